"""The storage seam: stored threads and what runs them. Nothing above knows the file format."""
