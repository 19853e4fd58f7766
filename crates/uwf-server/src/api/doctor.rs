//! `/api/doctor`: problems of the storage root. It writes and repairs nothing, starts no program and calls no provider.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use uwf_engine::root::home::Home;
use uwf_engine::verbs::doctor::{self, DoctorFinding, DoctorMode, DoctorReport};

use crate::app::AppState;
use crate::failure::HttpFailure;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/doctor", get(report))
}

/// `GET /api/doctor`
pub(crate) async fn report(State(app): State<AppState>) -> Result<Json<DoctorReport>, HttpFailure> {
    Ok(Json(DoctorReport::from_findings(findings(&app).await?)))
}

/// The findings.
pub(crate) async fn findings(app: &AppState) -> Result<Vec<DoctorFinding>, HttpFailure> {
    let found = app.read(|home| {
        let mut findings = doctor::examine(home, DoctorMode::Read);
        findings.push(config(home));
        Ok(findings)
    });
    found.await
}

/// Whether the configuration can be read. Only the command tests its agents and providers.
fn config(home: &Home) -> DoctorFinding {
    let path = home.config_file();
    match home.checked_config() {
        Err(error) => DoctorFinding::of_error("config", &error),
        Ok(_) if !path.exists() => {
            DoctorFinding::warn("config", format!("{} does not exist: the defaults apply", path.display()))
                .hint("`uwf setup` creates it")
        }
        Ok((_, problems)) => match problems.first() {
            Some(problem) => DoctorFinding::warn("config", problem.to_string()).hint("`uwf config validate` shows all"),
            None => DoctorFinding::ok("config", format!("{} is valid", path.display())),
        },
    }
}
