package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

const (
	composeName = "-- .devcontainer/docker-compose.yml --\n"
	composedApp = `{"dockerComposeFile": "docker-compose.yml", "service": "app", "workspaceFolder": "/workspaces/app"}` + "\n" + composeName
	pythonApp   = "services:\n  app:\n    image: mcr.microsoft.com/devcontainers/python:3.12\n    command: sleep infinity\n" +
		"    volumes:\n      - ..:/workspaces/app:cached\n"
)

// writtenCompose are mistakes of Compose projects and Features that were written without a look at the rules. Those that Compose
// refuses or changes were asked of docker-compose 2.26.
var writtenCompose = []pair{
	{"service_completed_successfully on a database that never ends", "error SBX333 service_completed_successful",
		composedApp +
			pythonApp +
			"    depends_on:\n      db:\n        condition: service_completed_successfully\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n",
		""},
	{"|| inside CMD form is an argument", "warning SBX314 [\"CMD\", \"curl\", \"-f\", \"http:",
		composedApp +
			pythonApp +
			"  web:\n    image: nginx:1.27\n    healthcheck:\n" +
			"      test: [\"CMD\", \"curl\", \"-f\", \"http://localhost/\", \"||\", \"exit\", \"1\"]\n",
		composedApp +
			pythonApp +
			"  web:\n    image: nginx:1.27\n    healthcheck:\n" +
			"      test: [\"CMD-SHELL\", \"curl -f http://localhost/ || exit 1\"]\n"},
	{"keycloak has no curl", "warning SBX333 [\"CMD\", \"curl\", \"-f\", \"http:",
		composedApp +
			pythonApp +
			"    depends_on:\n      kc:\n        condition: service_healthy\n  kc:\n" +
			"    image: quay.io/keycloak/keycloak:25.0\n    command: start-dev\n    healthcheck:\n" +
			"      test: [\"CMD\", \"curl\", \"-f\", \"http://localhost:8080/health/ready\"]\n",
		""},
	{"qdrant has no curl", "warning SBX333 [\"CMD\", \"curl\"",
		composedApp + pythonApp + "    depends_on:\n      q:\n        condition: service_healthy\n  q:\n    image: qdrant/qdrant:v1.12.1\n" +
			"    healthcheck:\n      test: [\"CMD\", \"curl\", \"-f\", \"http://localhost:6333/healthz\"]\n",
		composedApp + pythonApp + "    depends_on:\n      q:\n        condition: service_healthy\n  q:\n    image: qdrant/qdrant:v1.12.1\n" +
			"    healthcheck:\n      test: [\"CMD\", \"bash\", \"-c\", \":> /dev/tcp/127.0.0.1/6333\"]\n"},
	{"shell of a well-known image", "warning SBX326 bash",
		composedApp + "services:\n  app:\n    image: ros:humble\n    command: bash\n    volumes:\n      - ..:/workspaces/app\n",
		composedApp + "services:\n  app:\n    image: ros:humble\n    command: bash\n    tty: true\n    volumes:\n      - ..:/workspaces/app\n"},
	{"mssql 2022 has sqlcmd in mssql-tools18 only", "warning SBX333 /opt/mssql-tools/bin/sqlcmd",
		composedApp +
			pythonApp +
			"    depends_on:\n      db:\n        condition: service_healthy\n  db:\n" +
			"    image: mcr.microsoft.com/mssql/server:2022-latest\n    environment:\n" +
			"      ACCEPT_EULA: \"Y\"\n      MSSQL_SA_PASSWORD: Passw0rd!\n    healthcheck:\n" +
			"      test: /opt/mssql-tools/bin/sqlcmd -S localhost -U sa -P \"Passw0rd!\" -Q \"SELECT 1\"\n",
		""},
	{".env in the root is not read", "warning SBX334 postgres:${POSTGRES_VERSION}",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:${POSTGRES_VERSION}\n    environment:\n      POSTGRES_PASSWORD: x\n" +
			"-- .env --\nPOSTGRES_VERSION=16\n",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:${POSTGRES_VERSION}\n    environment:\n      POSTGRES_PASSWORD: x\n" +
			"-- .env --\nPOSTGRES_VERSION=16\n-- .devcontainer/.env --\nPOSTGRES_VERSION=16\n"},
	{"$ in the value of .env is interpolated", "warning SBX334 DB_PASSWORD=s3cr$tword",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD}\n" +
			"-- .devcontainer/.env --\nDB_PASSWORD=s3cr$tword\n",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD}\n" +
			"-- .devcontainer/.env --\nDB_PASSWORD='s3cr$tword'\n"},
	{"pg_isready -U $POSTGRES_USER is interpolated on the host", "warning SBX334 \"pg_isready -U $POSTGRES_USE",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_USER: app\n" +
			"      POSTGRES_PASSWORD: app\n    healthcheck:\n" +
			"      test: [\"CMD-SHELL\", \"pg_isready -U $POSTGRES_USER -d $POSTGRES_DB\"]\n" +
			"      interval: 5s\n",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_USER: app\n" +
			"      POSTGRES_PASSWORD: app\n    healthcheck:\n" +
			"      test: [\"CMD-SHELL\", \"pg_isready -U $$POSTGRES_USER -d $$POSTGRES_DB\"]\n" +
			"      interval: 5s\n"},
	{"$ in a password in environment", "warning SBX334 pa$word1",
		composedApp + pythonApp + "  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: pa$word1\n",
		composedApp + pythonApp + "  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: pa$$word1\n"},
	{"quotes in the list form of environment are part of the value", "warning SBX334 DATABASE_URL=\"postgresql://p",
		composedApp +
			pythonApp +
			"    environment:\n      - DATABASE_URL=\"postgresql://postgres:postgres@db:5432/postgres\"\n" +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n",
		composedApp +
			pythonApp +
			"    environment:\n      - \"DATABASE_URL=postgresql://postgres:postgres@db:5432/postgres\"\n" +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n"},
	{"spaces round = in environment list", "warning SBX334 DEBUG = 1",
		composedApp + pythonApp + "    environment:\n      - DEBUG = 1\n",
		""},
	{"mysql", "warning SBX333 mysql:/var/lib/mysql/data",
		composedApp +
			pythonApp +
			"  db:\n    image: mysql:8.0\n    environment:\n      MYSQL_ROOT_PASSWORD: root\n    volumes:\n" +
			"      - mysql:/var/lib/mysql/data\nvolumes:\n  mysql:\n",
		composedApp +
			pythonApp +
			"  db:\n    image: mysql:8.0\n    environment:\n      MYSQL_ROOT_PASSWORD: root\n    volumes:\n" +
			"      - mysql:/var/lib/mysql\nvolumes:\n  mysql:\n"},
	{"mongo", "warning SBX333 mongo:/var/lib/mongodb",
		composedApp +
			pythonApp +
			"  db:\n    image: mongo:7\n    volumes:\n      - mongo:/var/lib/mongodb\nvolumes:\n  mongo:\n",
		composedApp + pythonApp + "  db:\n    image: mongo:7\n    volumes:\n      - mongo:/data/db\nvolumes:\n  mongo:\n"},
	{"postgres", "warning SBX333 pg:/var/lib/postgres/data",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"    volumes:\n      - pg:/var/lib/postgres/data\nvolumes:\n  pg:\n",
		""},
	{"redis", "warning SBX333 r:/var/lib/redis",
		composedApp + pythonApp + "  redis:\n    image: redis:7\n    volumes:\n      - r:/var/lib/redis\nvolumes:\n  r:\n",
		""},
	{"dockerfile relative to the context, not to the compose file", "error SBX311 .devcontainer/Dockerfile",
		composedApp +
			"services:\n  app:\n    build:\n      context: .\n      dockerfile: .devcontainer/Dockerfile\n" +
			"    command: sleep infinity\n    volumes:\n      - ..:/workspaces/app\n" +
			"-- .devcontainer/Dockerfile --\nFROM mcr.microsoft.com/devcontainers/python:3.12\n",
		composedApp +
			"services:\n  app:\n    build:\n      context: ..\n      dockerfile: .devcontainer/Dockerfile\n" +
			"    command: sleep infinity\n    volumes:\n      - ..:/workspaces/app\n" +
			"-- .devcontainer/Dockerfile --\nFROM mcr.microsoft.com/devcontainers/python:3.12\n"},
	{"YAML number 3.10 is 3.1", "warning SBX334 3.10",
		composedApp +
			"services:\n  app:\n    build:\n      context: .\n      dockerfile: Dockerfile\n      args:\n" +
			"        VARIANT: 3.10\n    command: sleep infinity\n    volumes:\n      - ..:/workspaces/app\n" +
			"-- .devcontainer/Dockerfile --\nARG VARIANT=3.11\nFROM python:${VARIANT}\n",
		composedApp +
			"services:\n  app:\n    build:\n      context: .\n      dockerfile: Dockerfile\n      args:\n" +
			"        VARIANT: \"3.10\"\n    command: sleep infinity\n    volumes:\n" +
			"      - ..:/workspaces/app\n" +
			"-- .devcontainer/Dockerfile --\nARG VARIANT=3.11\nFROM python:${VARIANT}\n"},
	{"app and db share no network, DATABASE_URL names db", "warning SBX332 postgresql://postgres:postgr",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@db:5432/postgres\n" +
			"    networks:\n      - front\n  db:\n    image: postgres:16\n    environment:\n" +
			"      POSTGRES_PASSWORD: postgres\n    networks:\n      - back\nnetworks:\n  front:\n  back:\n",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@db:5432/postgres\n" +
			"    networks:\n      - front\n  db:\n    image: postgres:16\n    environment:\n" +
			"      POSTGRES_PASSWORD: postgres\n    networks:\n      - back\n      - front\nnetworks:\n" +
			"  front:\n  back:\n"},
	{"network_mode service", "error SBX316 redis",
		composedApp +
			pythonApp +
			"    links:\n      - redis\n  db:\n    image: postgres:16\n    environment:\n" +
			"      POSTGRES_PASSWORD: postgres\n",
		""},
	{"port ranges of different length", "error SBX316 \"3000-3005:3000-3001\"",
		composedApp + pythonApp + "    ports:\n      - \"3000-3005:3000-3001\"\n",
		""},
	{"forwardPorts with a database's host port", "warning SBX332 \"db:5433\"]",
		"{\n  \"name\": \"app\",\n  \"dockerComposeFile\": \"docker-compose.yml\",\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\",\n" +
			"  \"forwardPorts\": [\"db:5433\"]\n}\n" +
			composeName +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"    ports:\n      - \"5433:5432\"\n",
		"{\n  \"name\": \"app\",\n  \"dockerComposeFile\": \"docker-compose.yml\",\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\",\n" +
			"  \"forwardPorts\": [\"db:5432\"]\n}\n" +
			composeName +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"    ports:\n      - \"5433:5432\"\n"},
	{"command ends", "error SBX326 npm install",
		"{\n  \"name\": \"app\",\n  \"dockerComposeFile\": \"docker-compose.yml\",\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\",\n" +
			"  \"overrideCommand\": false\n}\n" +
			composeName +
			"services:\n  app:\n    image: node:20\n    command: npm install\n    volumes:\n" +
			"      - ..:/workspaces/app\n",
		""},
	{"command of one word in a list", "warning SBX314 [\"npm run dev\"]",
		composedApp + pythonApp + "  web:\n    image: node:20\n    command: [\"npm run dev\"]\n",
		""},
	{"command is no shell", "warning SBX314 cd /srv && npm run dev",
		composedApp + pythonApp + "  web:\n    image: node:20\n    command: cd /srv && npm run dev\n",
		composedApp + pythonApp + "  web:\n    image: node:20\n    command: sh -c \"cd /srv && npm run dev\"\n"},
	{"command", "warning SBX314 while true; do sleep 1; done",
		composedApp + pythonApp + "  web:\n    image: alpine:3.20\n    command: while true; do sleep 1; done\n",
		""},
	{"second file", "warning SBX317 ..",
		"{\n  \"name\": \"app\",\n" +
			"  \"dockerComposeFile\": [\"../docker-compose.yml\", \"docker-compose.extend.yml\"],\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\"\n}\n" +
			"-- docker-compose.yml --\nservices:\n  app:\n    image: app\n    volumes:\n" +
			"      - .:/workspaces/app\n-- .devcontainer/docker-compose.extend.yml --\nservices:\n  app:\n" +
			"    build:\n      context: ..\n      dockerfile: .devcontainer/Dockerfile\n" +
			"    command: sleep infinity\n-- .devcontainer/Dockerfile --\n" +
			"FROM mcr.microsoft.com/devcontainers/python:3.12\n",
		"{\n  \"name\": \"app\",\n" +
			"  \"dockerComposeFile\": [\"../docker-compose.yml\", \"docker-compose.extend.yml\"],\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\"\n}\n" +
			"-- docker-compose.yml --\nservices:\n  app:\n    image: app\n    volumes:\n" +
			"      - .:/workspaces/app\n-- .devcontainer/docker-compose.extend.yml --\nservices:\n  app:\n" +
			"    build:\n      context: .\n      dockerfile: .devcontainer/Dockerfile\n" +
			"    command: sleep infinity\n-- .devcontainer/Dockerfile --\n" +
			"FROM mcr.microsoft.com/devcontainers/python:3.12\n"},
	{"second file", "warning SBX317 ..:/workspaces/app:cached",
		"{\n  \"name\": \"app\",\n" +
			"  \"dockerComposeFile\": [\"../docker-compose.yml\", \"docker-compose.extend.yml\"],\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\"\n}\n" +
			"-- docker-compose.yml --\nservices:\n  app:\n    image: python:3.12\n" +
			"-- .devcontainer/docker-compose.extend.yml --\nservices:\n  app:\n    volumes:\n" +
			"      - ..:/workspaces/app:cached\n    command: sleep infinity\n",
		"{\n  \"name\": \"app\",\n" +
			"  \"dockerComposeFile\": [\"../docker-compose.yml\", \"docker-compose.extend.yml\"],\n" +
			"  \"service\": \"app\",\n  \"workspaceFolder\": \"/workspaces/app\"\n}\n" +
			"-- docker-compose.yml --\nservices:\n  app:\n    image: python:3.12\n" +
			"-- .devcontainer/docker-compose.extend.yml --\nservices:\n  app:\n    volumes:\n" +
			"      - .:/workspaces/app:cached\n    command: sleep infinity\n"},
	{"db has a profile", "warning SBX332 [dev]",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@db:5432/postgres\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"    profiles: [dev]\n",
		""},
	{"container_name with replicas", "error SBX316 worker",
		composedApp +
			pythonApp +
			"  worker:\n    image: redis:7\n    container_name: worker\n    deploy:\n      replicas: 2\n",
		""},
	{"two services of one container_name", "error SBX316 db",
		composedApp +
			pythonApp +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"    container_name: db\n  cache:\n    image: redis:7\n    container_name: db\n",
		""},
	{"gpu reservation without capabilities", "error SBX316 driver: nvidia",
		composedApp +
			pythonApp +
			"    deploy:\n      resources:\n        reservations:\n          devices:\n" +
			"            - driver: nvidia\n              count: 1\n",
		composedApp +
			pythonApp +
			"    deploy:\n      resources:\n        reservations:\n          devices:\n" +
			"            - driver: nvidia\n              count: 1\n              capabilities: [gpu]\n"},
	{"count and device_ids together", "error SBX316 [\"0\"]",
		composedApp +
			pythonApp +
			"    deploy:\n      resources:\n        reservations:\n          devices:\n" +
			"            - driver: nvidia\n              count: 1\n              device_ids: [\"0\"]\n" +
			"              capabilities: [gpu]\n",
		""},
	{"platform of no form", "error SBX316 linux-amd64",
		composedApp + pythonApp + "    platform: linux-amd64\n",
		composedApp + pythonApp + "    platform: linux/amd64\n"},
	{"service at the top level", "error SBX316 redis:",
		composedApp + pythonApp + "redis:\n  image: redis:7\n",
		""},
	{"command inside build", "error SBX316 command: sleep infinity",
		composedApp +
			pythonApp +
			"  web:\n    build:\n      context: ..\n      command: sleep infinity\n" +
			"-- Dockerfile --\nFROM python:3.12\n",
		""},
	{"image with capitals", "error SBX322 MyOrg/Api:dev",
		composedApp + pythonApp + "  api:\n    image: MyOrg/Api:dev\n",
		composedApp + pythonApp + "  api:\n    image: myorg/api:dev\n"},
	{"mysql 8.4 knows no default-authentication-plugin", "warning SBX331 --default-authentication-plu",
		composedApp +
			pythonApp +
			"  db:\n    image: mysql:8.4\n" +
			"    command: --default-authentication-plugin=mysql_native_password\n    environment:\n" +
			"      MYSQL_ROOT_PASSWORD: app\n",
		composedApp +
			pythonApp +
			"  db:\n    image: mysql:8.0\n" +
			"    command: --default-authentication-plugin=mysql_native_password\n    environment:\n" +
			"      MYSQL_ROOT_PASSWORD: app\n"},
	{"elasticsearch has no latest", "warning SBX322 docker.elastic.co/elasticsea",
		composedApp +
			pythonApp +
			"  es:\n    image: docker.elastic.co/elasticsearch/elasticsearch\n    environment:\n" +
			"      discovery.type: single-node\n",
		""},
	{"elasticsearch without single-node", "error SBX331 \"false\"",
		composedApp +
			pythonApp +
			"  es:\n    image: docker.elastic.co/elasticsearch/elasticsearch:8.15.0\n    environment:\n" +
			"      xpack.security.enabled: \"false\"\n",
		composedApp +
			pythonApp +
			"  es:\n    image: docker.elastic.co/elasticsearch/elasticsearch:8.15.0\n    environment:\n" +
			"      xpack.security.enabled: \"false\"\n      discovery.type: single-node\n"},
	{"kafka advertises localhost", "warning SBX333 PLAINTEXT://localhost:9092",
		composedApp +
			pythonApp +
			"    environment:\n      KAFKA_BROKERS: kafka:9092\n  kafka:\n    image: apache/kafka:3.8.0\n" +
			"    environment:\n      KAFKA_NODE_ID: 1\n      KAFKA_PROCESS_ROLES: broker,controller\n" +
			"      KAFKA_LISTENERS: PLAINTEXT://:9092,CONTROLLER://:9093\n" +
			"      KAFKA_ADVERTISED_LISTENERS: PLAINTEXT://localhost:9092\n" +
			"      KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER\n" +
			"      KAFKA_CONTROLLER_QUORUM_VOTERS: 1@localhost:9093\n" +
			"      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n",
		composedApp +
			pythonApp +
			"    environment:\n      KAFKA_BROKERS: kafka:9092\n  kafka:\n    image: apache/kafka:3.8.0\n" +
			"    environment:\n      KAFKA_NODE_ID: 1\n      KAFKA_PROCESS_ROLES: broker,controller\n" +
			"      KAFKA_LISTENERS: PLAINTEXT://:9092,CONTROLLER://:9093\n" +
			"      KAFKA_ADVERTISED_LISTENERS: PLAINTEXT://kafka:9092\n" +
			"      KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER\n" +
			"      KAFKA_CONTROLLER_QUORUM_VOTERS: 1@localhost:9093\n" +
			"      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"},
	{"bitnami images are gone from Docker Hub", "warning SBX322 bitnami/kafka:3.7.1",
		composedApp + pythonApp + "  kafka:\n    image: bitnami/kafka:3.7.1\n",
		composedApp + pythonApp + "  kafka:\n    image: bitnamilegacy/kafka:3.7.1\n"},
	{"cp-kafka 7 without zookeeper or KRaft settings", "error SBX331 kafka:",
		composedApp +
			pythonApp +
			"  kafka:\n    image: confluentinc/cp-kafka:7.6.0\n    environment:\n" +
			"      KAFKA_ADVERTISED_LISTENERS: PLAINTEXT://kafka:9092\n",
		""},
	{"rabbitmq", "error SBX331 \"0.6\"",
		composedApp +
			pythonApp +
			"  mq:\n    image: rabbitmq:3.13-management\n    environment:\n" +
			"      RABBITMQ_VM_MEMORY_HIGH_WATERMARK: \"0.6\"\n",
		""},
	{"minio without server command", "error SBX331 s3:",
		composedApp +
			pythonApp +
			"  s3:\n    image: minio/minio\n    environment:\n      MINIO_ROOT_USER: minio\n" +
			"      MINIO_ROOT_PASSWORD: minio12345\n",
		composedApp +
			pythonApp +
			"  s3:\n    image: minio/minio\n    command: server /data\n    environment:\n" +
			"      MINIO_ROOT_USER: minio\n      MINIO_ROOT_PASSWORD: minio12345\n"},
	{"minio password too short", "error SBX331 minio",
		composedApp +
			pythonApp +
			"  s3:\n    image: minio/minio\n    command: server /data\n    environment:\n" +
			"      MINIO_ROOT_USER: minio\n      MINIO_ROOT_PASSWORD: minio\n",
		""},
	{"keycloak without command prints help and ends", "error SBX331 kc:",
		composedApp +
			pythonApp +
			"  kc:\n    image: quay.io/keycloak/keycloak:26.0\n    environment:\n" +
			"      KC_BOOTSTRAP_ADMIN_USERNAME: admin\n      KC_BOOTSTRAP_ADMIN_PASSWORD: admin\n",
		composedApp +
			pythonApp +
			"  kc:\n    image: quay.io/keycloak/keycloak:26.0\n    command: start-dev\n    environment:\n" +
			"      KC_BOOTSTRAP_ADMIN_USERNAME: admin\n      KC_BOOTSTRAP_ADMIN_PASSWORD: admin\n"},
	{"KEYCLOAK_USER is of the old image", "warning SBX333 admin",
		composedApp +
			pythonApp +
			"  kc:\n    image: quay.io/keycloak/keycloak:24.0\n    command: start-dev\n    environment:\n" +
			"      KEYCLOAK_USER: admin\n      KEYCLOAK_PASSWORD: admin\n",
		composedApp +
			pythonApp +
			"  kc:\n    image: quay.io/keycloak/keycloak:24.0\n    command: start-dev\n    environment:\n" +
			"      KEYCLOAK_ADMIN: admin\n      KEYCLOAK_ADMIN_PASSWORD: admin\n"},
	{"redis takes no REDIS_PASSWORD", "warning SBX333 secret",
		composedApp +
			pythonApp +
			"    environment:\n      REDIS_URL: redis://:secret@redis:6379/0\n  redis:\n    image: redis:7\n" +
			"    environment:\n      REDIS_PASSWORD: secret\n",
		""},
	{"mssql without EULA", "warning SBX331 db:",
		composedApp +
			pythonApp +
			"  db:\n    image: mcr.microsoft.com/mssql/server:2022-latest\n    environment:\n" +
			"      SA_PASSWORD: Passw0rd!\n",
		""},
	{"mssql password too weak", "warning SBX331 password",
		composedApp +
			pythonApp +
			"  db:\n    image: mcr.microsoft.com/mssql/server:2022-latest\n    environment:\n" +
			"      ACCEPT_EULA: \"Y\"\n      MSSQL_SA_PASSWORD: password\n",
		composedApp +
			pythonApp +
			"  db:\n    image: mcr.microsoft.com/mssql/server:2022-latest\n    environment:\n" +
			"      ACCEPT_EULA: \"Y\"\n      MSSQL_SA_PASSWORD: P@ssw0rd1\n"},
	{"pgadmin without email", "error SBX331 pgadmin:",
		composedApp +
			pythonApp +
			"  pgadmin:\n    image: dpage/pgadmin4:8\n    environment:\n" +
			"      PGADMIN_DEFAULT_PASSWORD: x12345\n",
		""},
	{"mongo-express looks for mongo, the service is db", "error SBX331 ui:",
		composedApp +
			pythonApp +
			"  db:\n    image: mongo:7\n  ui:\n    image: mongo-express:1\n    environment:\n" +
			"      ME_CONFIG_BASICAUTH: \"false\"\n",
		composedApp +
			pythonApp +
			"  db:\n    image: mongo:7\n  ui:\n    image: mongo-express:1\n    environment:\n" +
			"      ME_CONFIG_BASICAUTH: \"false\"\n      ME_CONFIG_MONGODB_URL: mongodb://db:27017/\n"},
	{"unknown host in DATABASE_URL", "warning SBX332 postgresql://postgres:postgr",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@postgres:5432/postgres\n" +
			"  db:\n    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n",
		""},
	{"unknown host in DB_HOST", "warning SBX332 database",
		composedApp +
			pythonApp +
			"    environment:\n      DB_HOST: database\n      DB_PORT: \"5432\"\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n",
		composedApp +
			pythonApp +
			"    environment:\n      DB_HOST: db\n      DB_PORT: \"5432\"\n  db:\n    image: postgres:16\n" +
			"    environment:\n      POSTGRES_PASSWORD: postgres\n"},
	{"host's port in DATABASE_URL", "warning SBX332 postgresql://postgres:postgr",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@db:5433/postgres\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n    ports:\n" +
			"      - \"5433:5432\"\n",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@db:5432/postgres\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n    ports:\n" +
			"      - \"5433:5432\"\n"},
	{"password differs from the database's", "warning SBX332 postgresql://postgres:secret",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:secret@db:5432/postgres\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n",
		""},
	{"user that the image does not create", "warning SBX332 postgresql://postgres:postgr",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://postgres:postgres@db:5432/app\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"      POSTGRES_USER: app\n",
		composedApp +
			pythonApp +
			"    environment:\n      DATABASE_URL: postgresql://app:postgres@db:5432/app\n  db:\n" +
			"    image: postgres:16\n    environment:\n      POSTGRES_PASSWORD: postgres\n" +
			"      POSTGRES_USER: app\n"},
	{"env_file of the app names localhost", "warning SBX332 DB_HOST=localhost",
		composedApp +
			pythonApp +
			"    env_file: app.env\n  db:\n    image: postgres:16\n    environment:\n" +
			"      POSTGRES_PASSWORD: postgres\n" +
			"-- .devcontainer/app.env --\nDB_HOST=localhost\n",
		composedApp +
			pythonApp +
			"    env_file: app.env\n  db:\n    image: postgres:16\n    environment:\n" +
			"      POSTGRES_PASSWORD: postgres\n" +
			"-- .devcontainer/app.env --\nDB_HOST=db\n"},
	{"namespace feature instead of features", "warning SBX325 \"ghcr.io/devcontainers/featu",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/feature/python:1\": {}\n  }\n}\n",
		""},
	{"version tag v1", "warning SBX325 \"ghcr.io/devcontainers/featu",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/node:v1\": {}\n  }\n}\n",
		""},
	{"maven is an option of java, no Feature", "warning SBX325 \"ghcr.io/devcontainers/featu",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/maven:1\": {}\n  }\n}\n",
		""},
	{"dotnet 8", "warning SBX325 \"8\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/dotnet:2\": { \"version\": \"8\" }\n" +
			"  }\n}\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/dotnet:2\": { \"version\": \"8.0\" }\n" +
			"  }\n}\n"},
	{"sshd gatewayPorts true is none of the values", "warning SBX325 \"true\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/sshd:1\": { \"gatewayPorts\": \"true\" }\n  }\n}\n",
		""},
	{"cuda option is cudaVersion", "warning SBX325 \"version\": \"12.2\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:jammy\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/nvidia-cuda:1\": { \"version\": \"12.2\" }\n  }\n}\n",
		""},
	{"kubectl option", "warning SBX325 \"kubectl\": \"1.29\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/kubectl-helm-minikube:1\": { \"kubectl\": \"1.29\" }\n" +
			"  }\n}\n",
		""},
	{"option of a community Feature", "warning SBX325 \"package\": \"curl\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers-extra/features/apt-get-packages:1\": { \"package\": \"curl\" }\n" +
			"  }\n}\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers-extra/features/apt-get-packages:1\": { \"packages\": \"curl\" }\n" +
			"  }\n}\n"},
	{"community Feature on Alpine without bash", "error SBX325 \"ghcr.io/devcontainers-extra",
		"{\n  \"name\": \"app\",\n  \"image\": \"alpine:3.20\",\n  \"features\": {\n" +
			"    \"ghcr.io/devcontainers-extra/features/apt-get-packages:1\": { \"packages\": \"curl\" }\n" +
			"  }\n}\n",
		""},
	{"java distro", "warning SBX325 \"temurin\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/java:1\": { \"version\": \"21\", \"jdkDistro\": \"temurin\" }\n" +
			"  }\n}\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/java:1\": { \"version\": \"21\", \"jdkDistro\": \"tem\" }\n" +
			"  }\n}\n"},
	{"python version py3.11", "warning SBX325 \"python3.11\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/python:1\": { \"version\": \"python3.11\" }\n  }\n}\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/python:1\": { \"version\": \"3.11\" }\n" +
			"  }\n}\n"},
	{"node version v20 twice", "warning SBX325 \"node20\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/node:1\": { \"version\": \"node20\" }\n" +
			"  }\n}\n",
		""},
	{"boolean for a version", "warning SBX325 false }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/terraform:1\": { \"terragrunt\": false }\n  }\n}\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/terraform:1\": { \"terragrunt\": \"none\" }\n  }\n}\n"},
	{"dependsOn with an unknown option", "warning SBX325 \"versions\": \"20\" }",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"dependsOn\": {\n" +
			"    \"ghcr.io/devcontainers/features/node:1\": { \"versions\": \"20\" }\n  }\n}\n" +
			"-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"echo hello > /usr/local/share/hello\n",
		""},
	{"installsAfter a bare id", "warning SBX325 \"common-utils\"",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"installsAfter\": [\n    \"common-utils\"\n  ]\n}\n" +
			"-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"echo hello > /usr/local/share/hello\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"installsAfter\": [\n" +
			"    \"ghcr.io/devcontainers/features/common-utils\"\n  ]\n}\n" +
			"-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"echo hello > /usr/local/share/hello\n"},
	{"$REMOTE_USER has an underscore before", "warning SBX740 $REMOTE_USER /opt",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"name\": \"My tool\",\n  \"options\": {\n" +
			"    \"version\": { \"type\": \"string\", \"default\": \"latest\", \"description\": \"x\" }\n" +
			"  }\n}\n-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"chown -R $REMOTE_USER /opt\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"name\": \"My tool\",\n  \"options\": {\n" +
			"    \"version\": { \"type\": \"string\", \"default\": \"latest\", \"description\": \"x\" }\n" +
			"  }\n}\n-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"chown -R $_REMOTE_USER /opt\n"},
	{"su to the user with -c lost", "warning SBX740 $USERNAME:$USERNAME /usr/loc",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"name\": \"My tool\",\n  \"options\": {\n" +
			"    \"version\": { \"type\": \"string\", \"default\": \"latest\", \"description\": \"x\" }\n" +
			"  }\n}\n-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"chown -R $USERNAME:$USERNAME /usr/local/share/hello\n",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"./features/mytool\": {}\n  }\n}\n" +
			"-- .devcontainer/features/mytool/devcontainer-feature.json --\n{\n  \"id\": \"mytool\",\n" +
			"  \"version\": \"1.0.0\",\n  \"name\": \"My tool\",\n  \"options\": {\n" +
			"    \"version\": { \"type\": \"string\", \"default\": \"latest\", \"description\": \"x\" }\n" +
			"  }\n}\n-- .devcontainer/features/mytool/install.sh --\n#!/bin/sh\nset -e\n" +
			"chown -R $_REMOTE_USER /usr/local/share/hello\n"},
	{"lock resolves another Feature", "warning SBX605 \"ghcr.io/devcontainers/featu",
		"{\n  \"name\": \"app\",\n  \"image\": \"mcr.microsoft.com/devcontainers/base:bookworm\",\n" +
			"  \"features\": {\n    \"ghcr.io/devcontainers/features/node:1\": {}\n  }\n}\n" +
			"-- .devcontainer/devcontainer-lock.json --\n{\n  \"features\": {\n" +
			"    \"ghcr.io/devcontainers/features/node:1\": {\n      \"version\": \"1.6.1\",\n" +
			"      \"resolved\": \"ghcr.io/devcontainers/features/python@sha256:" + strings.Repeat("a", 64) + "\",\n" +
			"      \"integrity\": \"sha256:" + strings.Repeat("a", 64) + "\"\n" +
			"    }\n  }\n}\n",
		""},
	{"secret that the service lacks", "warning SBX333 /run/secrets/pg", composedApp + pythonApp + databaseService +
		"    secrets: [db]\n  api:\n    image: x/y:1\n    environment:\n      KEY_FILE: /run/secrets/pg\n    secrets: [db]\n" +
		"secrets:\n  db:\n    environment: DB\n", composedApp + pythonApp + "  api:\n    image: x/y:1\n    environment:\n" +
		"      KEY_FILE: /run/secrets/pg\n    secrets: [{source: db, target: pg}]\nsecrets:\n  db:\n    environment: DB\n"},
	// What stays as it is.
	{"numbers and quotes that stay", "SBX334", "", composedApp + pythonApp + "    environment:\n      A: 3.1\n      B: 20_000\n" +
		"      C: '\"x\"'\n      D: a_b\n      E: cash$$5\n"},
	{"folder of all projects", "SBX317", "", `{"dockerComposeFile": ["../docker-compose.yml", "more.yml"], "service": "app", ` +
		`"workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}"}` + "\n-- docker-compose.yml --\nservices:\n  app:\n" +
		"    image: python:3.12\n-- .devcontainer/more.yml --\nservices:\n  app:\n    command: sleep infinity\n" +
		"    volumes:\n      - ..:/workspaces:cached\n"},
	{"options that scripts read undeclared", "SBX325", "", imaged("debian:12", `, "features": {"ghcr.io/devcontainers/features/node:1": `+
		`{"additionalVersions": "18"}, "ghcr.io/shyim/devcontainers-features/php:0": {"version": "8.4"}}`)},
	{"host of another network", "SBX332", "", composedApp + pythonApp + "    environment:\n" +
		"      DATABASE_URL: postgres://a:b@staging:5432/c\n" + databaseService},
	{"account of a script", "SBX332", "", composedApp + pythonApp + "    environment:\n      DATABASE_URL: postgres://a:b@db:5432/c\n" +
		databaseService + "    volumes:\n      - ./init:/docker-entrypoint-initdb.d\n"},
	{"alias of a network", "SBX332", "", composedApp + pythonApp + "    environment:\n      DB_HOST: database\n" +
		databaseService + "    networks:\n      default:\n        aliases: [database]\n"},
	{"text of another shell", "SBX740", "", scripted("debian:12", "set -e\ncat >> /etc/profile <<'EOF'\nexport ME=$USER\nEOF\n")},
}

func TestComposeProjects(t *testing.T) { testPairs(t, writtenCompose) }

// Tests of a collection's Features that the reference CLI refuses, or that never fail.
func TestTestsOfFeatures(t *testing.T) {
	const check = "#!/bin/bash\nsource dev-container-features-test-lib\ncheck a true\n"
	for name, c := range map[string]struct{ file, text, want string }{
		"no report":          {"test/tool/test.sh", check, "the test succeeds whatever its checks find"},
		"report":             {"test/tool/test.sh", check + "reportResults\n", ""},
		"no library":         {"test/tool/test.sh", "check a true\n", "nothing defines check"},
		"no check":           {"test/tool/test.sh", "tool --version\n", ""},
		"test of no Feature": {"test/tol/test.sh", "true\n", "src has no Feature tol, and the reference CLI refuses its test"},
		"scenario without script": {"test/tool/scenarios.json", `{"a": {"image": "x", "features": {"tool": {}}}}`,
			"the scenario has no script a.sh, and the reference CLI refuses to test"},
		"scenario": {"test/tool/scenarios.json", `{"b": {"image": "x", "features": {"tool": {"one": "2", "two": "2"}}}}`, ""},
		"scenario of no Feature": {"test/tool/scenarios.json", `{"b": {"image": "x", "features": {"tol": {}}}}`,
			"src has no Feature tol, and the reference CLI refuses to test"},
		"scenario of a registry": {"test/tool/scenarios.json", `{"b": {"image": "x", "features": {"ghcr.io/a/b/tol:1": {}}}}`, ""},
		"option that is not there": {"test/tool/scenarios.json", `{"b": {"image": "x", "features": {"tool": {"three": "2"}}}}`,
			"the Feature tool has no option \"three\""},
	} {
		files := devcontainer.Memory{"test/tool/b.sh": "true\n", c.file: c.text, "src/tool/install.sh": "#!/bin/sh\necho $TWO $ONE\n",
			"src/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "T", ` +
				`"options": {"one": {"type": "string", "default": ""}}}`}
		got := ""
		for _, f := range judge(t, files) {
			if f.Rule == "SBX915" {
				got += f.Message
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A Template has a configuration where tools look.
func TestTemplateHasItsConfiguration(t *testing.T) {
	for place, want := range map[string]bool{"src/a/devcontainer.json": true, "src/a/.devcontainer/devcontainer.json": false} {
		found := false
		for _, f := range judge(t, devcontainer.Memory{"src/a/devcontainer-template.json": `{"id": "a", "version": "1.0.0", "name": "A"}`,
			place: `{"image": "debian:13"}`}) {
			found = found || f.Rule == "SBX911"
		}
		if found != want {
			t.Errorf("%s: found %v", place, found)
		}
	}
}
