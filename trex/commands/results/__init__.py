"""What `import trex` gives: runs and hits as objects, and the functions that find, check and open them."""
