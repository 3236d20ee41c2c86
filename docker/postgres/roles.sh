#!/bin/sh
# Run once by the postgres image, when the data folder is made: an owner, who migrates and may rewrite
# everything, and the application's user, who may not rewrite history (docs/threat-model.md). Neither is
# a superuser; that one (postgres) has a password that nobody else is told.
set -eu
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
CREATE ROLE lastcall_app NOLOGIN;
CREATE ROLE lastcall_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner_password';
CREATE ROLE lastcall_user LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'app_password' IN ROLE lastcall_app;
CREATE DATABASE lastcall OWNER lastcall_owner;
REVOKE ALL ON DATABASE lastcall FROM PUBLIC;
-- Temporary tables: `timeouts verify` and `doctor` compare alarms with deadlines in them.
GRANT CONNECT, TEMPORARY ON DATABASE lastcall TO lastcall_user;
SQL
