//! `/api/doctor`: problems of the storage root. It writes and repairs nothing, starts no program and calls no provider.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::doctor::{self, DoctorReport, Finding, Remedy};

use crate::app::App;
use crate::failure::Failure;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/doctor", get(report))
}

/// `GET /api/doctor`
pub(crate) async fn report(State(app): State<App>) -> Result<Json<DoctorReport>, Failure> {
    Ok(Json(DoctorReport::of(findings(&app).await?)))
}

/// The findings.
pub(crate) async fn findings(app: &App) -> Result<Vec<Finding>, Failure> {
    let found = app.read(|home| {
        let mut findings = doctor::examine(home, Remedy::Read);
        findings.push(config(home));
        Ok(findings)
    });
    found.await
}

/// Whether the configuration can be read. Only the command tests its agents and providers.
fn config(home: &Home) -> Finding {
    let path = home.config_file();
    match home.checked_config() {
        Err(error) => Finding::of_error("config", &error),
        Ok(_) if !path.exists() => {
            Finding::warn("config", format!("{} does not exist: the defaults apply", path.display()))
                .hint("`uwf setup` makes one")
        }
        Ok((_, problems)) => match problems.first() {
            Some(problem) => Finding::warn("config", problem.to_string()).hint("`uwf config validate` shows all"),
            None => Finding::ok("config", format!("{} is valid", path.display())),
        },
    }
}
