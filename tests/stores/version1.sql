PRAGMA application_id = 1198678631;
BEGIN TRANSACTION;
CREATE TABLE answers (
            run_id TEXT NOT NULL, step INTEGER NOT NULL, message BLOB NOT NULL,
            PRIMARY KEY (run_id, step)) WITHOUT ROWID;
INSERT INTO "answers" VALUES('r1',1,X'7B2261223A317D');
CREATE TABLE approvals (
            approval_id TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL, key TEXT NOT NULL, tool TEXT NOT NULL,
            tenant TEXT NOT NULL, state TEXT NOT NULL, binding TEXT NOT NULL, preview TEXT NOT NULL,
            arguments BLOB NOT NULL, reasons TEXT NOT NULL, created_at REAL NOT NULL,
            expires_at REAL NOT NULL, decided_by TEXT, decided_at REAL, note TEXT NOT NULL,
            place INTEGER PRIMARY KEY);
INSERT INTO "approvals" VALUES('ap1','r1','k1','a.b.v1','acme','pending','sha256:2','Kirim?',X'7B7D','["R"]',1.0,2.0,NULL,NULL,'',1);
CREATE TABLE calls (
            key TEXT NOT NULL UNIQUE, run_id TEXT NOT NULL, step_id TEXT NOT NULL, ordinal INTEGER NOT NULL,
            call_id TEXT NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL, fingerprint TEXT NOT NULL,
            arguments BLOB NOT NULL, attempt INTEGER NOT NULL, result BLOB NOT NULL, for_model TEXT NOT NULL,
            approval_id TEXT, updated_at REAL NOT NULL, place INTEGER PRIMARY KEY);
INSERT INTO "calls" VALUES('k1','r1','1',0,'c1','a.b.v1','DISPATCHED','f1',X'7B2278223A22C3A9227D',0,X'','',NULL,0.0,1);
INSERT INTO "calls" VALUES('k2','r2','1',0,'c2','a.b.v1','UNCERTAIN','f1',X'7B7D',0,X'','',NULL,9.0,2);
CREATE TABLE chains (run INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE);
INSERT INTO "chains" VALUES(1,'r1');
INSERT INTO "chains" VALUES(2,'r2');
CREATE TABLE events (
            run INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
            digest BLOB NOT NULL, place INTEGER PRIMARY KEY);
INSERT INTO "events" VALUES(1,1,'call.planned',X'7B7D',X'44843DA6C0C1AEFFEBB5CAF0ED8DE233F0821C794A96E9FEFB87204884E1BCC4',1);
INSERT INTO "events" VALUES(1,2,'call.dispatched',X'7B226E223A317D',X'68527C637FF465A47CBA964B97E8D9FB13E4BC7F72062172631303C3B9C0F369',2);
INSERT INTO "events" VALUES(2,1,'x',X'31',X'DA07A890BB51B91384C57B7719CE0F18FB60C4CD8016580A8240A6A8B70DFED5',3);
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('schema_version',1);
INSERT INTO "meta" VALUES('secret_key',X'E236A3BD432ACA1FFE66467558B1F864F67F59A29196449927314D5F9479E18A');
CREATE TABLE runs (
            run_id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, user TEXT NOT NULL, state TEXT NOT NULL,
            started_at REAL NOT NULL, updated_at REAL NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL,
            model TEXT NOT NULL, profile TEXT NOT NULL, steps INTEGER NOT NULL, events INTEGER NOT NULL,
            place INTEGER PRIMARY KEY);
INSERT INTO "runs" VALUES('r1','acme','ana','running',1.5,2.5,'Tanya «apa»?','','embedded:','local',3,0,1);
INSERT INTO "runs" VALUES('r2','other','budi','completed',3.5,4.5,'','','','',0,0,2);
CREATE INDEX runs_by_time ON runs (started_at);
CREATE INDEX runs_by_tenant ON runs (tenant, started_at);
CREATE INDEX calls_by_run ON calls (run_id);
CREATE INDEX approvals_by_time ON approvals (created_at);
CREATE INDEX approvals_by_run ON approvals (run_id, created_at);
CREATE INDEX approvals_by_state ON approvals (state, created_at);
CREATE UNIQUE INDEX events_by_run ON events (run, seq);
COMMIT;
