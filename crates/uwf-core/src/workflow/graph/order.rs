//! Orders the roles from top to bottom.

use super::GraphDrawing;

/// The nodes from top to bottom: each above its successors, loops aside; `$START` first, `$END` last.
///
/// This is the reverse postorder of a depth-first search that follows the last transition of each node first. The unconditional transition
/// usually continues the main path, and a condition leads around or back. So the target of a node's first transition is right below the
/// node, unless it was placed before. Unreachable roles are below all others.
pub(super) fn order(drawing: &GraphDrawing) -> Vec<usize> {
    let mut ways: Vec<Vec<usize>> = vec![Vec::new(); drawing.nodes.len()];
    for edge in &drawing.edges {
        ways[edge.from].push(edge.to);
    }
    let Some(end) = drawing.nodes.len().checked_sub(1) else { return Vec::new() };
    let mut seen = vec![false; drawing.nodes.len()];
    seen[end] = true;
    let mut order = Vec::new();
    for start in 0..end {
        let mut finished = finished_from(start, &mut ways, &mut seen);
        finished.reverse();
        order.append(&mut finished);
    }
    order.push(end);
    order
}

/// Depth-first search from one node. Returns the newly visited nodes in postorder, and removes the ways it took.
fn finished_from(start: usize, ways: &mut [Vec<usize>], seen: &mut [bool]) -> Vec<usize> {
    let mut finished = Vec::new();
    if std::mem::replace(&mut seen[start], true) {
        return finished;
    }
    let mut open = vec![start];
    while let Some(node) = open.last().copied() {
        match ways[node].pop() {
            Some(next) if std::mem::replace(&mut seen[next], true) => {}
            Some(next) => open.push(next),
            None => finished.extend(open.pop()),
        }
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::graph::tests::drawing;

    #[test]
    fn roles_come_after_their_predecessors_except_in_loops() {
        // A shortcut, a way back, and two ways that meet again.
        assert_eq!(order(&drawing(5, &[(0, 1), (1, 2), (2, 3), (1, 4), (3, 1), (3, 4)])), [0, 1, 2, 3, 4]);
        assert_eq!(order(&drawing(5, &[(0, 2), (2, 1), (2, 3), (1, 3), (3, 4)])), [0, 2, 1, 3, 4]);
    }

    #[test]
    fn end_is_last_and_unreachable_roles_precede_it() {
        assert_eq!(order(&drawing(5, &[(0, 4), (0, 3), (1, 3), (1, 1), (2, 1)])), [0, 3, 1, 2, 4]);
        assert_eq!(order(&drawing(2, &[])), [0, 1]);
        assert_eq!(order(&drawing(3, &[(1, 1), (2, 1)])), [0, 1, 2]);
    }
}
