import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { PROTOCOLS } from '../protocols/protocols.ts';
import { testTokens } from '../testing/test-context.ts';
import { SUMMARY_PROMPT, summaryRequest, TRANSCRIPT_BOUNDS } from './summary-request.ts';
import { transcriptOf } from './transcript.ts';

/** The same long task, as Codex and Claude Code send it: items or messages, tools and results in their shapes. */
const SESSIONS = { responses: 'codex-session', messages: 'claude-code-session' } as const;
const CALLERS = ['responses', 'messages'] as const;

const sessionOf = (caller: keyof typeof SESSIONS) => readSession(caller, SESSIONS[caller]);

function readSession(caller: (typeof CALLERS)[number], name: string) {
  const file = new URL(`./fixtures/${name}.json`, import.meta.url);
  const body: object = JSON.parse(readFileSync(file, 'utf8'));
  return PROTOCOLS[caller].decodeRequest({ model: 'm', max_tokens: 1, ...body }, testTokens);
}

const [BOUNDS] = TRANSCRIPT_BOUNDS;
if (BOUNDS === undefined) throw new Error('no bounds');

/** What a model that continues the task has to know. */
const FACTS = {
  'what is wanted': ['DHL drops events whose timestamp has no zone', 'PT-2291', 'Take the earlier one.'],
  'what is demanded': ['do not add a dependency', 'Never edit files below generated/', 'Use pnpm.'],
  'what was decided, and why': ['Europe/Berlin', "the carrier's contract (section 4.2)", 'UTC was rejected'],
  'which files were read and changed': [
    'src/carriers/dhl.ts',
    'A src/carriers/berlin-time.ts',
    'z.iso.datetime({ local: true })',
  ],
  'the state of the tools': ['session ID 58213', 'pnpm dev --port 4711', 'fix/pt-2291-zone', '9f31c7e'],
  'what went wrong': ["Cannot find name 'fromZone'", 'expected 2026-10-25T01:30:00.000Z'],
  'what is to be done': ['Note it in docs/carriers.md', '"status":"pending"'],
};

for (const caller of CALLERS)
  test.for(Object.entries(FACTS))(`${caller}: the summary is made from %s`, ([, facts]) => {
    const { text } = transcriptOf(sessionOf(caller), BOUNDS);
    // Arguments are JSON, with or without spaces.
    const found = text.replaceAll('": "', '":"');
    for (const fact of facts) expect(found).toContain(fact);
  });

/**
 * What Codex CLI 0.169 sent through the gateway as the last request of a task with three messages of the user's. It ran
 * in a folder made for that, with its real shell; a script stood in for the model. Codex's own instructions and tools
 * are left out.
 */
const recorded = () => readSession('responses', 'codex-recorded');

const RECORDED_FACTS = {
  'what is wanted': [
    'ticket PT-2291',
    'customers see gaps of hours',
    'Stop the server, and tell me what is left.',
  ],
  'what is demanded': [
    'do not add a dependency',
    'Never edit files below generated/',
    'Run the tests with: node --test',
  ],
  'what was decided, and why': ['UTC was rejected', 'section 4.2', 'take the earlier one'],
  'which files were read and changed': [
    'cat > src/berlin-time.js',
    "timeZone: 'Europe/Berlin', timeZoneName: 'longOffset'",
    'cat src/events.js src/events.test.js',
    'src/berlin-time.test.js   |  11 +',
  ],
  'the state of the tools': [
    '<cwd>/home/dev/parcels</cwd>',
    'Process running with session ID 23981',
    'listening on 4711',
    '## fix/pt-2291-zone',
  ],
  'what went wrong': [
    '[ERR_MODULE_NOT_FOUND]: Cannot find module',
    "+ '2026-10-25T01:30:00.000Z'",
    'kill: usage',
  ],
  'what is to be done': ['Step 4, the note in docs/carriers.md, is open', 'before I have seen the tests'],
};

test.for(Object.entries(RECORDED_FACTS))('recorded with Codex: the summary is made from %s', ([, facts]) => {
  const { text } = transcriptOf(recorded(), BOUNDS);
  for (const fact of facts) expect(text).toContain(fact);
});

test('recorded with Codex: under every bound every message and every call is there, in order', () => {
  for (const bounds of TRANSCRIPT_BOUNDS) {
    const session = recorded();
    const { text } = transcriptOf(session, bounds);
    let from = 0;
    for (const { role, parts } of session.turns)
      for (const part of parts) {
        if (part.type !== 'text' && part.type !== 'tool-call') continue;
        const mark = part.type === 'text' ? `<${role}>\n${part.text}\n` : `id="${part.id}">`;
        const at = text.indexOf(mark, from);
        expect(at).toBeGreaterThan(from);
        from = at;
      }
    expect(text.match(/<tool_call /g)).toHaveLength(15);
    expect(text).not.toContain('pending="true"');
  }
});

test.for(CALLERS)('%s: every result comes right after its call', (caller) => {
  const { text } = transcriptOf(sessionOf(caller), BOUNDS);
  const marks = [...text.matchAll(/<tool_(call|result)[^>]* id="(\w+)"/g)].map(([, kind, id]) => ({
    kind,
    id,
  }));
  expect(marks.length).toBeGreaterThan(20);
  for (let at = 0; at < marks.length; at += 2)
    expect(marks.slice(at, at + 2)).toEqual([
      { kind: 'call', id: marks[at]?.id },
      { kind: 'result', id: marks[at]?.id },
    ]);
});

test.for(CALLERS)('%s: a long output keeps its beginning and its end, within its bound', (caller) => {
  const { text } = transcriptOf(sessionOf(caller), BOUNDS);
  expect(text).toContain('case 0 > an event with a zone');
  expect(text).toContain('Tests  1 failed | 900 passed (901)');
  expect(text).toMatch(/\[… \d+ characters left out …\]/);
  for (const [, result = ''] of text.matchAll(/<tool_result[^>]*>\n([\s\S]*?)\n<\/tool_result>/g))
    expect(result.length).toBeLessThan(BOUNDS.toolText + 100);
});

test.for(CALLERS)('%s: the messages of the user are whole under every bound', (caller) => {
  const session = sessionOf(caller);
  for (const bounds of TRANSCRIPT_BOUNDS) {
    const { text } = transcriptOf(session, bounds);
    for (const { role, parts } of session.turns)
      if (role === 'user')
        for (const part of parts) if (part.type === 'text') expect(text).toContain(part.text);
  }
});

test.for(CALLERS)('%s: so many of the latest pictures are shown as the bound allows', (caller) => {
  const session = sessionOf(caller);
  const { images, text } = transcriptOf(session, BOUNDS);
  expect(images).toHaveLength(2);
  expect(text).toContain('[image 2, shown below]');
  const one = transcriptOf(session, { ...BOUNDS, images: 1 });
  expect(one.images).toHaveLength(1);
  expect(one.text).toContain('[an image]');
});

test('the seal of reasoning is not shown, and what it shows is', () => {
  const { text } = transcriptOf(sessionOf('responses'), BOUNDS);
  expect(text).toContain('I start with the parser and its tests.');
  expect(text).not.toContain('gAAAAABf');
});

test('a call whose result has not come yet is shown as pending', () => {
  const input = [
    { role: 'user', content: 'Go.' },
    { type: 'function_call', call_id: 'c1', name: 'wait', arguments: '{}' },
  ];
  const conversation = PROTOCOLS.responses.decodeRequest({ model: 'm', input }, testTokens);
  expect(transcriptOf(conversation, BOUNDS).text).toContain('<tool_result id="c1" pending="true"/>');
});

const SECTIONS = [
  'Goal',
  'Constraints and preferences',
  'Decisions',
  'Files and data',
  'Tools and environment',
  'Errors',
  'Open tasks',
  'Next step',
];

test('the prompt defines each section of a summary', () => {
  const headings = [...SUMMARY_PROMPT.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(SECTIONS);
});

const Request = z.looseObject({
  instructions: z.string(),
  input: z.array(z.looseObject({ content: z.array(z.looseObject({ type: z.string() })) })),
});
const requestWith = (instructions: Parameters<typeof summaryRequest>[0]['instructions']) =>
  Request.parse(
    summaryRequest({
      model: 'm',
      conversation: sessionOf('responses'),
      instructions,
      bounds: BOUNDS,
      maxOutputTokens: 9,
    }),
  );

test("the caller's own instructions add to the prompt, or replace it", () => {
  expect(requestWith(null).instructions).toBe(SUMMARY_PROMPT);
  const also = requestWith({ text: 'Name the ports.', use: 'also' }).instructions;
  expect(also.startsWith(SUMMARY_PROMPT)).toBe(true);
  expect(also).toContain('Name the ports.');
  expect(requestWith({ text: 'Name the ports.', use: 'only' }).instructions).toBe('Name the ports.');
});

test('the request is one message without tools, and ends with the order', () => {
  const { input, tools } = requestWith(null);
  expect(tools).toBeUndefined();
  expect(input).toHaveLength(1);
  expect(input[0]?.content.map(({ type }) => type)).toEqual([
    'input_text',
    'input_image',
    'input_image',
    'input_text',
  ]);
});
