//! The command as a user drives it: real processes, real files, real agent commands.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stderr, reason = "a test says when files it would read are not there")]

mod advisors;
mod agent_context;
mod agent_describe;
mod agent_environment;
mod agent_extract;
mod agent_link;
mod agent_list;
mod agent_names;
mod agent_retry;
mod agent_run;
mod agent_submit;
mod any_bytes;
mod api;
mod beginning;
mod binding;
mod byte_order_mark;
mod cas;
mod cas_put;
mod cas_reindex;
mod cas_verify;
mod child_threads;
mod child_threads_ending;
mod child_workflows;
mod chosen_id;
mod command_agent;
mod command_roles;
mod completions;
mod config_edit;
mod config_get;
mod config_set;
mod config_trust;
mod config_unset;
mod config_validate;
mod constant_conditions;
mod contradicted_answers;
mod dangling_references;
mod doctor;
mod earlier_names;
mod ends_of_turns;
mod env_file;
mod errors;
mod exact_values;
mod example_groups;
mod examples;
mod expect_head;
mod extraction_ladder;
mod fixtures;
mod foreign_store;
mod frontmatter;
mod gateway;
mod gc;
mod github;
mod group_files;
mod group_worktrees;
mod groups;
mod groups_agents;
mod groups_copies;
mod groups_each;
mod groups_hints;
mod groups_killed;
mod groups_listed;
mod groups_nested;
mod groups_redone;
mod groups_stopped;
mod groups_validate;
mod groups_views;
mod help;
mod hostile;
mod init_workflow;
mod init_workspace;
mod inputs;
mod keeper;
mod key_order;
mod labels;
mod leading_dashes;
mod links;
mod llm;
mod log;
mod long_traces;
mod man;
mod mcp;
mod misbehaving_agents;
mod mock;
mod newest_thread;
mod notify;
mod otel_export;
mod outcomes;
mod pack;
mod pages;
mod partial_traces;
mod projects;
mod prompts;
mod react;
mod recover;
mod reference;
mod reported_numbers;
mod root_permissions;
mod run;
mod run_all;
mod schedule;
mod schema;
mod serve;
mod serve_actions;
mod serve_compare;
mod serve_cost;
mod serve_forks;
mod serve_graph;
mod serve_live;
mod serve_node;
mod serve_open_files;
mod serve_refusals;
mod serve_schemas;
mod serve_search;
mod serve_security;
mod serve_start;
mod serve_step;
mod serve_thread;
mod serve_workflows;
mod setup;
mod several_threads;
mod shared_examples;
mod skill;
mod skill_install;
mod store_copy;
mod store_init;
mod store_show;
mod talked_about;
mod text_roles;
mod thread_answer;
mod thread_cost;
mod thread_diff;
mod thread_eval;
mod thread_fork;
mod thread_kill;
mod thread_limit;
mod thread_list;
mod thread_live;
mod thread_merge;
mod thread_pause;
mod thread_ps;
mod thread_question;
mod thread_read;
mod thread_retry;
mod thread_rm;
mod thread_show;
mod thread_start;
mod thread_states;
mod thread_step;
mod thread_step_details;
mod thread_step_dry_run;
mod thread_steps;
mod thread_verify;
mod thread_why;
mod thread_worktree;
mod traces;
mod usage_limits;
mod worker;
mod workflow_graph;
mod workflow_history;
mod workflow_list;
mod workflow_put;
mod workflow_rm;
mod workflow_show;
mod workflow_trust;
mod workflow_validate;
mod working_directory;
mod worktree_files;
mod worktree_setup;

/// Tests that need python3, strace, faketime, nginx, openssl, ssh-keygen or a collector of OpenTelemetry. `./test --tools` installs these programs
/// and runs this module and the modules of the same name in other files; `./test` leaves them out.
mod with_tools {
    mod acp;
    mod acp_ending;
    mod agent_mcp;
    mod agent_sessions;
    mod asking;
    mod check_release;
    mod clock;
    mod cost_terminal;
    mod cursor;
    mod documents;
    mod faults;
    mod full_disk;
    mod hermes;
    mod pages_terminal;
    mod price_update;
    mod several_threads_terminal;
    mod signed_merges;
    mod thread_answer_terminal;
    mod top;
}

use uwf_testing::{TestHome, numbered};

/// A fresh storage root for one test.
fn home() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_uwf"))
}

/// The transcript of a command, with ids and times taken out and hashes numbered.
fn transcript(home: &TestHome, args: &[&str]) -> String {
    numbered(&home.transcript(args))
}
