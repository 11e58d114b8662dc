"""The toolkits that come with EnvRL, a file each.

Adding one: write the file, add its line here. Tool names are unique over all builtin toolkits.
"""

#: name -> class as ``module:Class``; strings, so that naming a toolkit does not import the others
BUILTIN: dict[str, str] = {
    "bank": "envrl.envs.envfactory.toolkits.bank:Bank",
    "tickets": "envrl.envs.envfactory.toolkits.tickets:Tickets",
}
