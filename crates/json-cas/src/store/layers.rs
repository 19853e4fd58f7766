//! Nodes in a safe order of removal.

use crate::hash::NodeHash;

/// Nodes in layers. No node references a node of its own layer or of an earlier one.
#[derive(Debug, Clone, Default)]
pub struct NodeLayers(pub(super) Vec<Vec<NodeHash>>);

impl NodeLayers {
    /// Whether the layers are empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// All nodes in order.
    pub fn nodes(&self) -> Vec<NodeHash> {
        self.0.concat()
    }

    /// The layers in order.
    pub fn slices(&self) -> Vec<&[NodeHash]> {
        self.0.iter().map(Vec::as_slice).collect()
    }

    /// Keeps only nodes for which `is_kept` returns `true`.
    pub fn retain(&mut self, mut is_kept: impl FnMut(NodeHash) -> bool) {
        self.0.iter_mut().for_each(|layer| layer.retain(|hash| is_kept(*hash)));
        self.0.retain(|layer| !layer.is_empty());
    }

    /// Removes the first nodes, at most `most`, and returns them.
    pub fn take(&mut self, most: usize) -> NodeLayers {
        let (mut taken, mut left) = (Vec::new(), most);
        self.0.retain_mut(|layer| {
            let some: Vec<NodeHash> = layer.drain(..left.min(layer.len())).collect();
            left -= some.len();
            if !some.is_empty() {
                taken.push(some);
            }
            !layer.is_empty()
        });
        NodeLayers(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_to_the_layers() {
        let hash = NodeHash::from_u64;
        let mut layers = NodeLayers(vec![vec![hash(1), hash(2)], vec![hash(3)], vec![hash(4), hash(5), hash(6)]]);
        assert_eq!(layers.take(3).slices(), [&[hash(1), hash(2)][..], &[hash(3)]]);
        layers.retain(|node| node != hash(4));
        assert_eq!(layers.take(1).slices(), [[hash(5)]]);
        assert_eq!(layers.take(9).nodes(), [hash(6)]);
        assert!(layers.is_empty() && layers.take(9).is_empty());
    }
}
