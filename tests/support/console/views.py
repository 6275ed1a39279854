"""The views of the console: name, address, and an element that is there when the view is drawn."""

PAGES = {
    "overview": ("/", ".figures"),
    "topics": ("/topics", "table[aria-label=Topics] tbody tr"),
    "topic": ("/topics/orders", "table[aria-label=Partitions] tbody tr"),
    "records": ("/topics/orders/records", "table[aria-label=Records] tbody tr"),
    "record": ("/topics/orders/records?open=0-500012", ".panel .json"),
    "search": ("/topics/orders/records?query=status:failed", "table[aria-label=Records] tbody tr"),
    "topic-settings": ("/topics/orders/settings", "table.settings tbody tr"),
    "consumers": ("/topics/orders/consumers", "table tbody tr"),
    "producers": ("/topics/orders/producers", "table tbody tr"),
    "groups": ("/groups", "table[aria-label=Groups] tbody tr"),
    "group": ("/groups/billing", ".strip"),
    "brokers": ("/brokers", "table[aria-label=Brokers] tbody tr"),
    "matrix": ("/brokers/matrix", "table.matrix tbody tr"),
    "broker": ("/brokers/1", ".figures"),
    "slow": ("/requests", "table tbody tr"),
    "clients": ("/requests/clients", "table tbody tr"),
    "settings": ("/settings", "table.settings tbody tr"),
    "explain": ("/explain?principal=User:ana&operation=READ&resource_type=TOPIC&resource_name=orders", ".note"),
}
