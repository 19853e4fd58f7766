//! Agents made with the kit, as real processes of real threads.

mod word_count;
