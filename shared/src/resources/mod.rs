//! Wire forms that more than one function speaks.

pub mod posting;
pub mod resume;
pub mod role;
pub mod screen;
