"""One formula, written as a file of another format."""
