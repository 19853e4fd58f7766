//! The picture of a graph, alone and on a page.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::Store;
use uwf_core::workflow::{GRAPH_CSS, GraphCourse, GraphDrawing, GraphOnPage, Transition, Workflow, check};

const REVIEWED: &str = "\
name: fix-issue
roles:
  developer: { goal: You fix the issue., meta: { type: object } }
  reviewer:
    goal: You review the change.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
conditions:
  tooOften: { description: three changes are enough, expression: \"$count(steps[role='developer']) >= 3\" }
  rejected: { description: the reviewer wants changes, expression: \"steps[-1].output.approved = false\" }
graph:
  $START: [ { role: developer } ]
  developer: [ { role: reviewer } ]
  reviewer:
    - { role: $END, condition: tooOften }
    - { role: developer, condition: rejected }
    - { role: $END }
";

fn workflow(text: &str) -> Workflow {
    let draft = check(text, "w.yaml", None).draft.expect("the file is sound");
    draft.resolve(|_, schema| Store::schema_draft(schema).map(|node| node.hash())).expect("its schemas are sound")
}

/// A transition: from, to, its condition.
type Way<'w> = (&'w str, &'w str, Option<&'w str>);

/// A workflow with these transitions instead of its own.
fn with_graph(ways: &[Way<'_>]) -> Workflow {
    let mut graph: BTreeMap<String, Vec<Transition>> = BTreeMap::new();
    for (from, to, condition) in ways {
        let transition = Transition { role: (*to).to_owned(), condition: condition.map(str::to_owned), outcome: None };
        graph.entry((*from).to_owned()).or_default().push(transition);
    }
    Workflow { graph, roles: BTreeMap::new(), ..workflow(REVIEWED) }
}

fn course(at: &str, state: &str) -> GraphCourse {
    let roles = ["developer", "reviewer", "developer", "reviewer"].map(str::to_owned).to_vec();
    GraphCourse { roles, at: at.to_owned(), state: state.to_owned(), ..GraphCourse::default() }
}

fn on_page(drawing: &GraphDrawing) -> String {
    let node_href = |name: &str| (!name.starts_with('$')).then(|| format!("/roles?a=b&name={name}\"><script>"));
    let edge_href = |from: &str, to: &str| Some(format!("#{from}-{to}"));
    drawing.svg_for_page(&GraphOnPage {
        branch_href: &|_, _| None,
        ids: "g1",
        node_href: &node_href,
        edge_href: &edge_href,
        edge_note: &|_, _| None,
    })
}

/// The tags of a picture, each with what is inside of it up to `>`. Fails if one is not closed where it must be.
#[track_caller]
fn tags(svg: &str) -> Vec<&str> {
    let (mut open, mut tags) = (Vec::new(), Vec::new());
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>') || tag == "style", "{part}");
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).expect("a tag has a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{svg}");
        } else {
            open.extend((!tag.ends_with('/')).then_some(name));
            tags.push(tag);
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "{svg}");
    tags
}

/// The values of an attribute.
fn values<'s>(tags: &[&'s str], attribute: &str) -> Vec<&'s str> {
    let before = format!(" {attribute}=\"");
    let value = |tag: &&'s str| tag.split_once(before.as_str()).and_then(|(_, rest)| rest.split_once('"'));
    tags.iter().filter_map(value).map(|(value, _)| value).collect()
}

#[test]
fn guide_picture_matches_current_drawing() {
    let svg = GraphDrawing::from_workflow(&workflow(REVIEWED), Some(&course("$END", "completed"))).svg();
    let shown = include_str!("../../../../../docs/graph.svg");
    assert!(svg == shown, "write this to docs/graph.svg:\n{svg}");
}

#[test]
fn standalone_svg_shows_path_and_state() {
    let svg = GraphDrawing::from_workflow(&workflow(REVIEWED), Some(&course("reviewer", "stuck"))).svg();
    let tags = tags(&svg);
    let classes = values(&tags, "class");
    let count = |class: &str| classes.iter().filter(|known| **known == class).count();
    assert_eq!(
        ["node here stuck", "edge taken", "edge idle", "node terminal idle"].map(count),
        [1, 3, 1, 1],
        "{classes:?}"
    );
    assert!(tags[0].ends_with("role=\"img\"") && svg.contains("<title>fix-issue</title>"), "{svg}");
    assert!(svg.contains(GRAPH_CSS) && svg.contains("prefers-color-scheme: dark"));
    assert!(svg.contains(">tooOften or otherwise</text>") && svg.contains(">2× · stuck</text>"), "{svg}");
}

#[test]
fn page_svg_links_roles_and_arrows_without_styles() {
    let drawing = GraphDrawing::from_workflow(&workflow(REVIEWED), Some(&course("reviewer", "running")));
    let svg = on_page(&drawing);
    let tags = tags(&svg);
    assert!(!tags.iter().any(|tag| tag.starts_with("style") || tag.starts_with("script") || tag.contains(" style=")));
    assert_eq!(
        values(&tags, "href"),
        [
            "/roles?a=b&amp;name=developer&quot;&gt;&lt;script&gt;",
            "/roles?a=b&amp;name=reviewer&quot;&gt;&lt;script&gt;",
            "#reviewer-$END",
            "#$START-developer",
            "#developer-reviewer",
            "#reviewer-developer",
        ]
    );
    assert_eq!(
        values(&tags, "aria-label"),
        [
            "Graph of fix-issue",
            "START",
            "developer, 2×",
            "reviewer, 2× · running",
            "END",
            "reviewer to END: tooOften or otherwise",
            "START to developer: 1×",
            "developer to reviewer: 2×",
            "reviewer to developer: rejected · 1×",
        ]
    );
    let ids = values(&tags, "id");
    assert_eq!(ids, ["g1", "g1-node-1", "g1-node-2", "g1-edge-2", "g1-edge-0", "g1-edge-1", "g1-edge-3"]);
}

#[test]
fn every_class_of_a_picture_has_a_style() {
    let mut classes = BTreeSet::new();
    for (at, state) in [("reviewer", "stuck"), ("$END", "waiting"), ("$START", "limited"), ("developer", "corrupt")] {
        let drawing = GraphDrawing::from_workflow(&workflow(REVIEWED), Some(&course(at, state)));
        for svg in [drawing.svg(), on_page(&drawing)] {
            classes.extend(values(&tags(&svg), "class").join(" ").split(' ').map(str::to_owned));
        }
    }
    // They look as every text does, or only say what others are in.
    let groups = ["node", "name"];
    let unstyled: Vec<&String> = classes
        .iter()
        .filter(|class| !GRAPH_CSS.contains(&format!(".{class} ")) && !groups.contains(&class.as_str()))
        .collect();
    assert_eq!(unstyled, Vec::<&String>::new());
    assert!(GRAPH_CSS.len() < 4000, "{} bytes: a page has 8 KB for all of its styles", GRAPH_CSS.len());
}

#[test]
fn graphs_of_odd_shapes_are_drawn() {
    let (long, wide) = ("a".repeat(200), "設計".repeat(100));
    let names: Vec<String> = (0..300).map(|at| format!("r{at}")).collect();
    let jumps =
        (0..300).flat_map(|at| [7, 13, 211].map(|step| (&*names[at], &*names[at * step % 300], Some("rejected"))));
    let many: Vec<Way<'_>> =
        jumps.chain(names.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str(), None))).collect();
    let shapes: [&[Way<'_>]; 7] = [
        &[],
        &[("$START", "only", None), ("only", "only", Some("rejected")), ("only", "$END", None)],
        &[("$START", "$START", None), ("$START", "$END", None), ("$END", "$END", Some("x")), ("$END", "$START", None)],
        &[("$START", "a", None), ("a", "$END", None), ("apart", "apart", None), ("alone", "a", None)],
        &[("$START", &long, None), (&long, &wide, Some(&long)), (&long, "עורך", Some(&wide)), (&long, &long, None)],
        &[("$START", "a\u{202e}<b>\"&", None), ("\u{0}\u{1b}[31m", "\u{fffe}", Some("]]>"))],
        &many,
    ];
    for shape in shapes {
        let drawing = GraphDrawing::from_workflow(&with_graph(shape), Some(&course("a", "not a class\"")));
        for svg in [drawing.svg(), on_page(&drawing)] {
            tags(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{shape:?}");
            assert!(svg.lines().all(|line| line.len() < 4000), "{shape:?}");
        }
    }
}
