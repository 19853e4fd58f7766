//! What every backend must do, on a server of each provider.

use json_cas::ObjectBackend;
use json_cas::conformance::{heads_suite, notes_suite, objects_suite, objects_suite_of_one_writer};

use crate::servers::{Kind, Server};

fn objects(kind: Kind) {
    let server = Server::start(kind);
    let fresh = || Box::new(server.fresh()) as Box<dyn ObjectBackend>;
    if kind == Kind::Moto { objects_suite_of_one_writer(&fresh) } else { objects_suite(&fresh) }
}

fn heads(kind: Kind) {
    let server = Server::start(kind);
    heads_suite(&|| server.fresh());
}

fn notes(kind: Kind) {
    let server = Server::start(kind);
    notes_suite(&|| server.fresh());
}

#[test]
fn objects_on_moto_pass_the_conformance_suite() {
    objects(Kind::Moto);
}

#[test]
fn objects_on_seaweedfs_pass_the_conformance_suite() {
    objects(Kind::SeaweedFs);
}

#[test]
fn objects_on_azurite_pass_the_conformance_suite() {
    objects(Kind::Azurite);
}

#[test]
fn google_objects_pass_conformance_suite() {
    objects(Kind::Google);
}

// Neither heads nor notes on moto, nor simultaneous puts: see `ATOMIC`.
#[test]
fn heads_on_seaweedfs_pass_the_conformance_suite() {
    heads(Kind::SeaweedFs);
}

#[test]
fn heads_on_azurite_pass_the_conformance_suite() {
    heads(Kind::Azurite);
}

#[test]
fn google_heads_pass_conformance_suite() {
    heads(Kind::Google);
}

#[test]
fn notes_on_seaweedfs_pass_the_conformance_suite() {
    notes(Kind::SeaweedFs);
}

#[test]
fn notes_on_azurite_pass_the_conformance_suite() {
    notes(Kind::Azurite);
}

#[test]
fn google_notes_pass_conformance_suite() {
    notes(Kind::Google);
}
