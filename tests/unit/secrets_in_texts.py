"""
Secrets with a marker in them, and the texts that carry them.
"""

from hypothesis import strategies as st

ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# A marker no other part of a test's text holds: wherever it shows up again, the secret leaked.
MARK = "Zq7"


def marked(minimum, maximum=30, alphabet=ALNUM):
    """Random text with the marker in it and at its end."""
    return st.text(alphabet, min_size=minimum, max_size=maximum).map(lambda body: f"{MARK}{body}{MARK}")


PASSWORDS = marked(1, alphabet=ALNUM + "!$%*-_.")
CARRIERS = (
    "Bearer {}",
    "Authorization: Bearer {}",
    "Authorization: Basic {} more",
    "{{'authorization': 'Bearer {}', 'host': 'x'}}",
    '{{"authorization":"Bearer {}","message":"no"}}',
    '{{\\"authorization\\": \\"Bearer {}\\"}}',
    "x-api-key: {}",
    "Cookie: session={}; other=1",
    "api key {} is invalid",
    "API key '{}' was refused",
    "the api_key={} was refused",
    "apikey: {}",
    "The API key is {}.",
    "Incorrect API key provided: {}.",
    "password={}",
    "password = '{} with blanks {}'",
    'password: "{}"',
    "PGPASSWORD={} psql",
    "with password {} for the shop",
    "Passwort {} ist falsch",
    "pwd={};other=1",
    "client_secret={}&grant=x",
    "access_token%3D{}%26x",
    "room token {} misses its server",
    "https://llm.example/v1/models?key={}",
    "https://user:{}@llm.example/v1",
    "https:\\/\\/llm.example\\/v1?token={}",
    "https%3A%2F%2Fllm.example%2F{}",
    "postgresql://app:{}@db/crm",
    "mysql+pymysql://app:{}@10.0.0.3:3306/crm",
    "amqps://app:{}@mq",
    "Server=tcp:x,1433;Uid=sa;Pwd={};",
    "Key (api_token)=({}) already exists",
    "AccountKey={};EndpointSuffix=x",
)


def leaks(text):
    """Whether the marker of a seeded secret is in *text*, in any case."""
    return MARK.lower() in text.lower()
