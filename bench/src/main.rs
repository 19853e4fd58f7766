//! scratch
mod error; mod measure; mod place; mod seed; mod sizes;
use error::Result;
use measure::{Case, interleave};
use std::io::Write;
fn main() -> Result<()> {
    let quick = std::env::args().any(|a| a == "--quick");
    let sizes = if quick { sizes::Sizes::quick() } else { sizes::Sizes::full(30) };
    let me = std::env::current_exe().expect("x");
    let dir = me.parent().expect("x").to_owned();
    let programs = place::Programs { uwf: dir.join("uwf"), dir: dir.clone() };
    let tmp = tempfile::TempDir::with_prefix_in("uwf-bench-", dir.parent().expect("x")).expect("x");
    let t = std::time::Instant::now();
    let p = place::Place::new(&tmp.path().join("long"), &programs)?;
    let floor = tmp.path().join("floor"); std::fs::create_dir(&floor).expect("x");
    let mut seed = seed::Seed::new(&p.home)?;
    let line = seed.line(sizes.long())?;
    let mut threads = vec![];
    for agent in ["stepper", "texter"] {
        for len in sizes.lengths {
            let id = seed.thread(line.steps[len - 1], &p.workspace, Some(agent))?;
            seed.warm(&id)?;
            threads.push((format!("{agent} at {len}"), id));
        }
    }
    let cold = seed.thread(line.steps[sizes.long() - 1], &p.workspace, None)?;
    seed.fill(sizes.nodes)?;
    let n = seed.finish()?;
    let small = place::Place::new(&tmp.path().join("small"), &programs)?;
    let mut seed = seed::Seed::new(&small.home)?;
    let s = seed.start()?;
    let one = seed.thread(s, &small.workspace, None)?;
    seed.finish()?;
    let small2 = place::Place::new(&tmp.path().join("small2"), &programs)?;
    let mut seed = seed::Seed::new(&small2.home)?;
    let s = seed.start()?;
    let two = seed.thread(s, &small2.workspace, Some("texter"))?;
    seed.finish()?;
    let out = &mut std::io::stdout();
    let _ = writeln!(out, "seeded {n} nodes in {:?}", t.elapsed());
    let mut cases = vec![
        Case { name: "floor step".into(), prepare: Box::new(|_| Ok(programs.floor(&floor, &["trivial-agent", "--bare"]))) },
        Case { name: "floor text".into(), prepare: Box::new(|_| Ok(programs.floor(&floor, &["trivial-command", "writer"]))) },
        Case { name: "step, fresh store".into(), prepare: Box::new(|_| Ok(small.step(&one))) },
        Case { name: "text, fresh store".into(), prepare: Box::new(|_| Ok(small2.step(&two))) },
        Case { name: "--version".into(), prepare: Box::new(|_| Ok(small2.uwf(&["--version"]))) },
        Case { name: "show long".into(), prepare: Box::new(|_| Ok(p.uwf(&["thread", "show", threads[2].1.as_str()]))) },
        Case { name: "step at long, cache deleted".into(), prepare: Box::new(|_| { let _ = std::fs::remove_file(p.home.chain_file(&cold)); seed::sync_disk(p.home.root())?; Ok(p.step(&cold)) }) },
    ];
    for (name, id) in &threads {
        let p = &p;
        cases.push(Case { name: name.clone(), prepare: Box::new(move |_| Ok(p.step(id))) });
    }
    let times = interleave(sizes.runs, &mut cases)?;
    for (case, t) in cases.iter().zip(&times) {
        let base = if case.name.starts_with("text") { &times[1] } else { &times[0] };
        let _ = writeln!(out, "{:30} {:8.2} ms  {:6.2} x floor", case.name, t.median(), t.over(base));
    }
    Ok(())
}
