"""One suite over every implementation of the storage seam."""
