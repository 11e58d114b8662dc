"""WebShop: shopping on a simulated web shop by search and clicks, without Java or a server."""
