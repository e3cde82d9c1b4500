# Read into the shell before the engine starts: how the cards of this container talk to each other.
#
# NVLINK_MODE is auto (ask the driver), force_on or force_off. PYTORCH_CUDA_ALLOC_CONF stays as it is where somebody set it.

case "${NVLINK_MODE:=auto}" in
    force_on) steward_nvlink=on ;;
    force_off) steward_nvlink=off ;;
    auto)
        steward_nvlink=off
        # a cell such as NV4 in the rows of the cards is a link of four lanes
        if nvidia-smi topo -m 2>/dev/null | grep -E '^GPU[0-9]' | grep -qE '[[:space:]]NV[0-9]+'; then
            steward_nvlink=on
        fi
        ;;
    *)
        echo "NVLINK_MODE is ${NVLINK_MODE}; it must be auto, force_on or force_off" >&2
        return 1
        ;;
esac

if [ "$steward_nvlink" = on ]; then
    export NCCL_P2P_LEVEL=NVL
    export PYTORCH_CUDA_ALLOC_CONF="${PYTORCH_CUDA_ALLOC_CONF:-max_split_size_mb:512}"
else
    export NCCL_P2P_DISABLE=1
    STEWARD_ENGINE_ARGS="$STEWARD_ENGINE_ARGS --disable-custom-all-reduce"
    export PYTORCH_CUDA_ALLOC_CONF="${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True,max_split_size_mb:512}"
fi
echo "NVLink is $steward_nvlink (NVLINK_MODE=$NVLINK_MODE)"
unset steward_nvlink
