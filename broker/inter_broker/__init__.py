"""Links between brokers: requests to the controller, its requests to this broker, coordinators elsewhere."""
