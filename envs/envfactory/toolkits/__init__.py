"""The toolkits that come with EnvRL, a file each.

Adding one: write the file, add its line here. Tool names are unique over all builtin toolkits.
"""

#: name -> class as ``module:Class``; strings, so that naming a toolkit does not import the others
BUILTIN: dict[str, str] = {
    "bank": "envrl.envs.envfactory.toolkits.bank:Bank",
    "tickets": "envrl.envs.envfactory.toolkits.tickets:Tickets",
    "files": "envrl.envs.envfactory.toolkits.files:Files",
    "calendar": "envrl.envs.envfactory.toolkits.calendar:Calendar",
    "mail": "envrl.envs.envfactory.toolkits.mail:Mail",
    "messaging": "envrl.envs.envfactory.toolkits.messaging:Messaging",
    "shop": "envrl.envs.envfactory.toolkits.shop:Shop",
    "warehouse": "envrl.envs.envfactory.toolkits.warehouse:Warehouse",
    "travel": "envrl.envs.envfactory.toolkits.travel:Travel",
    "crm": "envrl.envs.envfactory.toolkits.crm:Crm",
    "hr": "envrl.envs.envfactory.toolkits.hr:Hr",
    "clinic": "envrl.envs.envfactory.toolkits.clinic:Clinic",
    "library": "envrl.envs.envfactory.toolkits.library:Library",
    "fleet": "envrl.envs.envfactory.toolkits.fleet:Fleet",
    "smart_home": "envrl.envs.envfactory.toolkits.smart_home:SmartHome",
}

#: name -> what field of life it is from
DOMAINS: dict[str, str] = {
    "bank": "banking",
    "tickets": "help desk",
    "files": "files",
    "calendar": "calendar",
    "mail": "mail",
    "messaging": "messaging",
    "shop": "shop orders",
    "warehouse": "logistics",
    "travel": "travel",
    "crm": "sales",
    "hr": "personnel",
    "clinic": "health",
    "library": "library",
    "fleet": "transport",
    "smart_home": "smart home",
}
