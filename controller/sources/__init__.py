"""Where the desired state comes from: files and their bytes, YAML with places, the catalogue's search path, rigs as facts."""
