//! A database of the test's own.

use uwf_testing::postgres::PostgresServer;

/// A server with the database `work`.
pub(crate) struct Postgres(PostgresServer);

impl Postgres {
    pub(crate) fn start() -> Postgres {
        // Transactions of the vacuum would be counted, too.
        let server = PostgresServer::start(&["autovacuum=off"]);
        server.sql("postgres", "create database work");
        Postgres(server)
    }

    /// Starts it, again after [`Postgres::stop`].
    pub(crate) fn run(&mut self) {
        self.0.run();
    }

    /// What its superuser wants done or to know.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.0.sql("work", statement)
    }

    /// Ends it at once, with what was being done.
    pub(crate) fn stop(&mut self) {
        self.0.stop("QUIT");
    }

    /// The variables of a machine that uses a schema of this name on it.
    pub(crate) fn variables(&self, store: &str) -> Vec<(String, String)> {
        Postgres::variables_at(self.0.port(), store)
    }

    /// The same for a proxy in front of the server.
    pub(crate) fn variables_at(port: u16, store: &str) -> Vec<(String, String)> {
        let url = format!("postgres://postgres@127.0.0.1:{port}/work?schema={store}");
        vec![("UWF_STORE_URL".to_owned(), url)]
    }

    /// Its port.
    pub(crate) fn port(&self) -> u16 {
        self.0.port()
    }
}
