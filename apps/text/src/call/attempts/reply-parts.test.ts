import fc from 'fast-check';
import { expect, test } from 'vitest';
import { partsOf } from './reply-parts.ts';

const FILLER = 'x'.repeat(20_000);
const USAGE = { input_tokens: 3, output_tokens: 4 };
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));

test('of a large reply only the members are read that report its usage, its end and its ids', () => {
  const reply = {
    id: 'resp_1',
    status: 'completed',
    instructions: FILLER,
    tools: [{ name: 'usage', usage: { input_tokens: 9 } }],
    output: [{ id: 'msg_1' }],
    usage: USAGE,
  };
  const { instructions: _, tools: __, ...read } = reply;
  expect(partsOf(bytesOf(reply))).toEqual(read);
});

test('texts and inner objects that look like usage are not taken for it', () => {
  const fake = `","usage":{"input_tokens":1},"id":"resp_9","x":"`;
  const reply = { a: fake, b: { usage: 1, id: 2 }, text: `\\"${FILLER}ä𝄞\\`, usage: USAGE, c: [fake] };
  expect(partsOf(bytesOf(reply))).toEqual({ usage: USAGE });
});

test('of a member that occurs twice the last one counts, as for the parser', () => {
  expect(partsOf(Buffer.from(`{"usage":1,"text":"${FILLER}","usage":{"a":2}}`))).toEqual({ usage: { a: 2 } });
});

test.for([
  ['it is short', '{"usage":{}}'],
  ['it is a list', `["${FILLER}"]`],
  ['it breaks off', `{"usage":{},"text":"${FILLER}`],
  ['it breaks off between members', `{"text":"${FILLER}","usage":{}`],
  ['something follows', `{"text":"${FILLER}"}{}`],
  ['a name is written with an escape', `{"\\u0075sage":1,"text":"${FILLER}"}`],
  ['a member that is read is no JSON', `{"text":"${FILLER}","usage":{oops}}`],
  ['it is a page', `<html>${FILLER}</html>`],
] as const)('the reply is left to the parser where %s', ([, text]) => {
  expect(partsOf(Buffer.from(text))).toBeNull();
});

test('whatever a reply holds, what is read of it is what the parser reads', () => {
  const name = fc.oneof(fc.constantFrom('id', 'usage', 'status', 'output', 'tools'), fc.string());
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue({ noUnicodeString: false })), (members) => {
      const json = JSON.stringify({ ...members, text: FILLER });
      const parsed = Object.entries(JSON.parse(json));
      const parts = partsOf(Buffer.from(json));
      const known = ['id', 'status', 'background', 'completed_at', 'service_tier', 'usage', 'conversation'];
      const others = ['container', 'output', 'choices', 'data'];
      const expected = parsed.filter(([member]) => [...known, ...others].includes(member));
      if (parts !== null) expect(parts).toEqual(Object.fromEntries(expected));
    }),
    { numRuns: 500 },
  );
});
