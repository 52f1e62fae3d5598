//! The simulator's script: its questions, the candidates' answers, and the sentences of its summaries.
//!
//! The simulator replaces `{name}`, `{first_name}`, `{title}` and `{term}`. A term comes from the role's
//! description. The bracketed part of an answer becomes a highlight if the answer is strong, and a red flag if it is
//! weak.

/// The score that an answer counts towards, besides communication.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Experience,
    Motivation,
}

/// A subject with its questions and the answers to them.
pub(super) struct Topic {
    /// Part of the seed of every choice within the topic. Another name results in other conversations.
    pub(super) name: &'static str,
    pub(super) measure: Measure,
    pub(super) questions: [&'static str; 2],
    pub(super) strong: [&'static str; 3],
    pub(super) fair: [&'static str; 3],
    pub(super) weak: [&'static str; 3],
}

pub(super) const AGREEMENTS: [&str; 3] = [
    "Yes, now works for me.",
    "Hi, yes, I was expecting your call. Go ahead.",
    "Sure, just let me close the door. Okay, I'm ready.",
];
pub(super) const REFUSAL: &str = "No, I don't want to talk to an AI, and I don't want to be transcribed.";
pub(super) const REFUSAL_ACKNOWLEDGEMENT: &str = "That's all right. {phrase}, and the hiring team will be in \
    touch. Goodbye!";
pub(super) const ACKNOWLEDGEMENTS: [&str; 4] = ["Thank you.", "I see, thanks.", "Okay.", "Got it."];
pub(super) const FAREWELL: &str = "That was my last question. Thanks for your time, {first_name}. The \
    hiring team will read the transcript and get back to you. Goodbye!";
pub(super) const GOODBYES: [&str; 2] =
    ["Thanks, goodbye.", "Great, I look forward to hearing from you. Bye!"];

pub(super) const BACKGROUND: Topic = Topic {
    name: "background",
    measure: Measure::Experience,
    questions: [
        "To start with, what have you been working on over the past few years?",
        "Could you give me a quick summary of your background?",
    ],
    strong: [
        "I've done this kind of work full time for six years. [In my current job I lead a team of four], \
         and before that I built the same department from scratch at a much smaller company.",
        "I've spent eight years in similar roles, at two companies. [I took over a project that was three \
         months behind, and we still delivered on the date we had promised]. Since then I usually get the \
         difficult ones.",
        "I started as an assistant and worked my way up over seven years. [Today I plan the work of my \
         whole team and I'm accountable for the results], and I still do a lot of it myself.",
    ],
    fair: [
        "I've been in a similar role for about two years, mostly supporting more senior colleagues. I know \
         the day-to-day work well, but I haven't been in charge of it yet.",
        "I come from a related field and switched about a year and a half ago. I think a lot of what I did \
         before carries over.",
        "I spent three years at one company. The work was steady and I know it well, but it was always the \
         same kind of task.",
    ],
    weak: [
        "All sorts of things, really. A bit of this and a bit of that. [I never stayed anywhere for more \
         than a few months].",
        "Well, it's all in my resume. [I'd rather not go through all of that again].",
        "Something else for the most part, to be honest. I haven't done this kind of work before, but it \
         can't be that hard.",
    ],
};

pub(super) const PROJECT: Topic = Topic {
    name: "project",
    measure: Measure::Experience,
    questions: [
        "Could you walk me through a project you're proud of?",
        "What's a result from the past year that was mostly your own work?",
    ],
    strong: [
        "Our customers used to wait two weeks for a reply. I went through the whole process, cut the steps \
         that nobody needed, and [we brought the wait down to three days]. The team still works that way.",
        "We had to move to a new system without closing for a single day. [I wrote the plan, tested it on \
         two weekends, and nobody even noticed the switch], which was the best compliment.",
        "I noticed that we were paying twice for the same service. [I renegotiated the contract and saved \
         us a fifth of the annual cost]. It took about a month of patient negotiation.",
    ],
    fair: [
        "We changed the way we handle incoming requests. I was one of five people on it, and my part was \
         to find out what everybody needed.",
        "I kept things running while two of my colleagues were away. It was nothing spectacular, but \
         nothing got dropped either.",
        "I suggested a small improvement to our weekly report. It saves us about an hour a week.",
    ],
    weak: [
        "I can't think of anything in particular right now.",
        "The last one went fine. [My manager did most of it, but I can put my name on it].",
        "That's hard to say. We just worked through whatever was on the list.",
    ],
};

pub(super) const FIRST_TERM: Topic = Topic {
    name: "first term",
    measure: Measure::Experience,
    questions: [
        "The job description mentions {term}. What hands-on experience do you have with that?",
        "One of the things in the job description is {term}. Where have you worked with that?",
    ],
    strong: [
        "Quite a lot. [I was responsible for {term} for three years], including the parts that nobody else \
         wanted to touch. The hardest part was handing it over without breaking anything.",
        "I work with it almost every week. [I wrote the guide to {term} that our new hires start with], \
         and I still keep it up to date, because people never stop asking questions.",
        "That was the core of my last job. [When I joined, we were struggling with {term}, and a year \
         later other teams were coming to us for advice]. I'd happily do it again.",
    ],
    fair: [
        "I've worked with it as part of a team, but I was never in charge of it. With {term}, I'd need a \
         few weeks before I could work on my own.",
        "Some. We used {term} a little in my last job, and I've read up on it since then. I understand the \
         basics.",
        "About a year, in a small company. I know my way around {term}, but not on a large scale.",
    ],
    weak: [
        "Not much, really. [I only put {term} on my resume because everybody does].",
        "I've heard of it. Somebody else took care of that.",
        "Hmm, {term}. I think we had a course on that once, but I don't remember much of it.",
    ],
};

pub(super) const SECOND_TERM: Topic = Topic {
    name: "second term",
    measure: Measure::Experience,
    questions: [
        "And what about {term}? How confident would you feel with that on day one?",
        "It also mentions {term}. How confident are you with that?",
    ],
    strong: [
        "Quite confident. [I trained two colleagues in {term} last year], and teaching it showed me what I \
         hadn't fully understood myself.",
        "Very confident. [I've done that under real time pressure, and it held up]. I'd want to see your \
         setup first, of course.",
        "That's the part I enjoy most. [I spend about half of my week on {term}], so I'd feel right at \
         home.",
    ],
    fair: [
        "Reasonably confident. I'd have to look things up at first, but I wouldn't be lost.",
        "I know it from one project. With {term}, I'd want somebody I can ask now and then.",
        "Somewhat. I've used it, but I wouldn't call myself an expert.",
    ],
    weak: [
        "Not very. I'd be hoping that somebody could show me.",
        "To be honest, [I say yes to everything in an interview and figure it out later].",
        "I'm afraid I'd have to start from scratch with {term}.",
    ],
};

pub(super) const SETBACK: Topic = Topic {
    name: "setback",
    measure: Measure::Experience,
    questions: [
        "Tell me about a time something went wrong. What did you do about it?",
        "When was the last time one of your plans failed, and how did you handle it?",
    ],
    strong: [
        "A delivery fell through the day before it was due. [I called the customer within the hour and we \
         agreed on a smaller first delivery, which was ready on time]. After that we changed the way we \
         plan.",
        "I misread a requirement and we lost a week. [I admitted it in front of the whole team, and now we \
         go through every requirement out loud together]. It hasn't happened again.",
        "We lost our most important supplier overnight. [I called eleven others in two days and found a \
         replacement before we ran out of stock]. I slept well after that.",
    ],
    fair: [
        "We were late once because two of us each thought the other one was on it. We talked it through \
         and it got better.",
        "A colleague left in the middle of a project. It was a stressful time, but we managed somehow.",
        "I underestimated a task. I asked for help a bit later than I should have, but we got it done in \
         the end.",
    ],
    weak: [
        "[I missed a deadline and didn't tell anybody until the next day]. The plan was wrong, so it \
         wasn't my fault.",
        "Nothing comes to mind. Things usually go fine.",
        "[It's usually other people who make the mistakes], so I can't say much about that.",
    ],
};

pub(super) const TEAMWORK: Topic = Topic {
    name: "teamwork",
    measure: Measure::Experience,
    questions: [
        "How do you work with people who see things differently from you?",
        "When you disagree with a colleague, how do you sort it out?",
    ],
    strong: [
        "I ask them to walk me through their view. [Last spring a colleague and I each argued the other \
         one's side, and we came up with a better plan than either of us had]. It works surprisingly \
         often.",
        "I bring it up early, and I'm open about it. [Two former colleagues have asked me to join them at \
         their new companies], so it can't be all wrong.",
        "I start with what we agree on. [Our sales and planning teams weren't talking to each other, so I \
         set up a short weekly meeting that's still going].",
    ],
    fair: [
        "I'm easy to get along with. I tend to stay out of arguments, maybe more than I should.",
        "It depends on the person. With most people it goes well once we know each other.",
        "I listen first. If we can't settle it, I leave it to our manager.",
    ],
    weak: [
        "[I mostly end up doing it my own way, because discussions take too long].",
        "That hasn't really come up.",
        "I'd say I get along with people. You'd have to ask them.",
    ],
};

pub(super) const MOTIVATION: Topic = Topic {
    name: "motivation",
    measure: Measure::Motivation,
    questions: ["What interests you about the {title} role?", "Why the {title} role, and why now?"],
    strong: [
        "It's the part of my current job that I like best, and here it would be the whole job. [I've read \
         everything on your careers page and talked to somebody who works for you], and I like what I \
         heard.",
        "I've learned about as much as I can where I am. [I want to own something from start to finish, \
         and that's exactly what this role is about].",
        "[I've been looking for exactly this combination for six months, and I've turned down two other \
         offers]. I'd rather wait for the right job than change twice.",
    ],
    fair: [
        "It sounds like a good next step. I liked the job description, and the location works for me.",
        "I'm looking around at the moment, and this is one of three roles I find interesting.",
        "A friend told me that you're a good employer. I don't know much more than that yet.",
    ],
    weak: [
        "[I'm applying to everything that comes up at the moment], so I'd have to check which one this \
         was.",
        "I need something new, and I need it soon. I don't care that much about the rest.",
        "I'm not sure yet. I thought you'd tell me.",
    ],
};

pub(super) const AVAILABILITY: Topic = Topic {
    name: "availability",
    measure: Measure::Motivation,
    questions: [
        "If everything works out, when could you start?",
        "What's your notice period, and does the location work for you?",
    ],
    strong: [
        "I could start in four weeks. [I've already talked to my manager about handing over my work], so \
         I'm free after that, and the location works for me too.",
        "I have one month's notice. [I'd use that time to prepare, and I could come in for a day before I \
         start].",
        "At the beginning of next month. [I've checked the commute and the hours, and both work well for \
         me].",
    ],
    fair: [
        "I have three months' notice. I might be able to shorten it, but I'd have to ask.",
        "Some time next quarter. The location is fine, but it would help if I could work from home now and \
         then.",
        "In about two months. I have a vacation booked before that.",
    ],
    weak: [
        "I don't know if I want to leave at all. [I'm mostly after an offer that I can show to my current \
         employer].",
        "It's hard to say. Let's see when we get that far.",
        "[I signed with another company last week, but I could still get out of that].",
    ],
};

pub(super) const QUESTIONS: Topic = Topic {
    name: "questions",
    measure: Measure::Motivation,
    questions: [
        "Do you have any questions for the hiring team? I'll pass them on.",
        "What would you like to know from the hiring team? I'll make a note of it.",
    ],
    strong: [
        "Yes. [What should the person in this role have achieved after six months]? That would tell me \
         where to focus first.",
        "Two things: [who would I work with most closely, and what's the hardest part of the job that \
         isn't in the description]?",
        "I do. [How does the team decide what not to work on]? In my experience, that tells you a lot.",
    ],
    fair: [
        "How many people are on the team?",
        "Just how long the process takes from here.",
        "Maybe what a typical day looks like.",
    ],
    weak: ["No, nothing.", "Not that I can think of.", "No. Are we done then?"],
};

/// The summary's sentences for a good, a fair and a poor score.
pub(super) const EXPERIENCE_SUMMARIES: [&str; 3] = [
    "The candidate's experience fits the role well, and concrete examples support it.",
    "The candidate's experience fits the role in part, and growing into it would take some time.",
    "The answers on experience were thin.",
];
pub(super) const MOTIVATION_SUMMARIES: [&str; 3] = [
    "The candidate gave good reasons for wanting the role.",
    "The candidate is interested in the role, but not strongly.",
    "The candidate did not explain why this role is of interest.",
];
pub(super) const COMMUNICATION_SUMMARIES: [&str; 3] = [
    "The answers were clear and to the point.",
    "The answers were clear enough, but some were short.",
    "Many answers were short or evasive.",
];
pub(super) const WORTHWHILE: &str = "Overall, a next interview looks worthwhile.";
pub(super) const NOT_WORTHWHILE: &str = "Overall, a next interview does not look worthwhile.";

/// Words that most job descriptions contain, so an interviewer would not ask about them.
pub(super) const EVERYDAY_WORDS: &str = "about applicants background benefits candidate candidates \
    colleagues environment everything experience hiring including knowledge opportunity please position \
    qualifications requirements responsibilities responsibility salary something together your";
/// Endings of words that are rarely nouns.
pub(super) const NON_NOUN_ENDINGS: [&str; 9] =
    ["able", "ed", "ful", "ible", "ing", "ive", "less", "ly", "ous"];
