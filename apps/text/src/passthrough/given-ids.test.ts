import { createFrameReader } from '@gateway/contracts/event-stream/frame-reader';
import { collectSse } from '@gateway/testkit/collect-sse';
import { expect, test } from 'vitest';
import { useConversations } from '../testing/use-conversations.ts';
import { GivenIds, mayComeAgain } from './given-ids.ts';
import { SentIds } from './sent-ids.ts';

test.for([
  ['resp_1', true],
  ['resp_795121', true],
  ['resp_1732612345', true],
  ['resp-0', true],
  ['', true],
  ['msg_resp_12', true],
  ['resp_00000000000000000000000000000000', true],
  ['resp_00000000-0000-0000-0000-000000000001', true],
  ['resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b', false],
  ['resp_550e8400-e29b-41d4-a716-446655440000', false],
  ['msg_a1b2c3d4', false],
  ['resp_1732612345678901234', false],
] as const)('whether a server may give %s again: %s', ([id, expected]) => {
  expect(mayComeAgain(id)).toBe(expected);
});

test('ids are looked up while those before them are, and events keep their order', async () => {
  const looks: PromiseWithResolvers<boolean>[] = [];
  const hasItem = () => {
    const look = Promise.withResolvers<boolean>();
    looks.push(look);
    return look.promise;
  };
  const given = new GivenIds({ sent: new SentIds(''), heldBy: { hasResponse: async () => false, hasItem } });
  const events = [0, 1, 2].map((at) => ({
    type: 'response.output_item.added',
    output_index: at,
    item: { id: `msg_${at}`, type: 'message' },
  }));
  const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
  const frames = createFrameReader({ maxFrameBytes: 1e6 }).push(Buffer.from(`${stream}data: [DONE]\n\n`));
  const ended: number[] = [];
  const shown = frames.map(async (frame, at) => {
    const text = await given.frame(frame);
    ended.push(at);
    return text;
  });
  expect(looks).toHaveLength(3);
  for (const look of looks.toReversed()) look.resolve(true);
  const texts = await Promise.all(shown);
  expect(ended).toEqual([0, 1, 2, 3]);
  for (const at of [0, 1, 2]) expect(texts[at]).toMatch(/"id":"msg_[^"]{20,}"/);
});

const conversations = useConversations();
const { get, send } = conversations;

type Item = Record<string, unknown>;
interface Ids {
  readonly response: string;
  readonly item: string;
}
const COUNTED: Ids = { response: 'resp_1', item: 'msg_1' };
const PROPER: Ids = {
  response: 'resp_67ccd2bed1ec8190b14f964abc054267',
  item: 'msg_67ccd2bf17f0819081ff3bb2cf6508e6',
};

const messageOf = (id: string, text: string): Item => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const responseOf = (ids: Ids, output: readonly Item[], more: object = {}): Item => ({
  id: ids.response,
  object: 'response',
  created_at: 1,
  model: 'm',
  status: 'completed',
  output,
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  ...more,
});
const eventsOf = (ids: Ids, items: readonly Item[]): readonly Item[] => [
  { type: 'response.created', response: responseOf(ids, [], { status: 'in_progress' }) },
  ...items.flatMap((item, output_index) => [
    { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
    ...(item.type === 'message'
      ? [
          {
            type: 'response.output_text.delta',
            item_id: item.id,
            output_index,
            content_index: 0,
            delta: Object(item.content)[0].text,
          },
        ]
      : []),
    { type: 'response.output_item.done', output_index, item },
  ]),
  { type: 'response.completed', response: responseOf(ids, items) },
];
const sse = (events: readonly Item[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** Asks the server that gives these ids, and reads the answer as its caller does. */
async function ask(items: readonly Item[], ids: Ids, body: object, how: 'whole' | 'streamed') {
  const streamed = how === 'streamed';
  conversations.second.script(
    streamed ? { sse: sse(eventsOf(ids, items)) } : { json: responseOf(ids, items) },
  );
  const reply = await send({ model: 'forgetful', input: 'hi', stream: streamed, ...body });
  expect(reply.status).toBe(200);
  if (!streamed) return { response: Object(await reply.json()), events: [] };
  const events = (await collectSse(reply)).flatMap(({ data }) =>
    data === '[DONE]' ? [] : [Object(JSON.parse(data))],
  );
  return { response: events.at(-1).response, events };
}
const textsOf = (response: unknown): unknown =>
  Object(response).output.map((item: Item) => Object(item.content)[0].text);

for (const how of ['whole', 'streamed'] as const) {
  for (const [kind, ids] of [
    ['counted', COUNTED],
    ['proper, and the same again', PROPER],
  ] as const)
    test(`${how}: answers of a server whose ids are ${kind} are found and continued as themselves`, async () => {
      const made = [];
      for (const text of ['One.', 'Two.', 'Three.'])
        made.push((await ask([messageOf(ids.item, text)], ids, { input: `Say ${text}` }, how)).response);
      expect(new Set(made.map(({ id }) => id)).size).toBe(3);
      for (const [index, text] of ['One.', 'Two.', 'Three.'].entries()) {
        const stored = Object(await (await get(made[index].id)).json());
        expect([stored.id, textsOf(stored)]).toEqual([made[index].id, [text]]);
        await ask([messageOf(ids.item, 'So.')], ids, { previous_response_id: made[index].id }, how);
        expect(await conversations.reached(conversations.second)).toEqual([
          `user: Say ${text}`,
          `assistant: ${text}`,
          'user: hi',
        ]);
      }
    });

  test(`${how}: items are found by the ids that their caller was given`, async () => {
    const one = await ask([messageOf('msg_1', 'One.')], COUNTED, {}, how);
    const two = await ask([messageOf('msg_1', 'Two.')], COUNTED, {}, how);
    const reference = { type: 'item_reference', id: two.response.output[0].id };
    await ask(
      [messageOf('msg_1', 'So.')],
      COUNTED,
      { input: [reference, { role: 'user', content: 'And?' }] },
      how,
    );
    expect(await conversations.reached(conversations.second)).toEqual(['assistant: Two.', 'user: And?']);
    expect(one.response.output[0].id).not.toBe(two.response.output[0].id);
  });

  test(`${how}: calls with ids that the conversation has already get others, and their results fit`, async () => {
    const call = (id: string): Item => ({
      id,
      type: 'function_call',
      status: 'completed',
      call_id: 'call_0',
      name: 'look_up',
      arguments: '{}',
    });
    const first = await ask([call('fc_0'), call('fc_0')], COUNTED, {}, how);
    const calls = first.response.output.map(({ call_id }: Item) => call_id);
    expect(new Set(calls).size).toBe(2);
    const input = calls.map((call_id: string) => ({ type: 'function_call_output', call_id, output: 'ok' }));
    const body = { previous_response_id: first.response.id, input };
    const second = await ask([call('fc_0')], COUNTED, body, how);
    expect(await conversations.reached(conversations.second)).toEqual([
      'user: hi',
      ...calls.map((id: string) => `function_call: ${id}`),
      ...calls.map((id: string) => `function_call_output: ${id}`),
    ]);
    expect(calls).not.toContain(second.response.output[0].call_id);
  });
}

test('a stream has the ids that its caller was given in every event', async () => {
  const items = [messageOf('msg_1', 'One.'), messageOf('msg_1', 'Two.')];
  const first = await ask(items, COUNTED, {}, 'streamed');
  expect(new Set(first.response.output.map(({ id }: Item) => id)).size).toBe(2);
  const { response, events } = await ask(items, COUNTED, {}, 'streamed');
  expect(JSON.stringify(events)).not.toMatch(/"(?:resp|msg)_1"/);
  const [one, two] = response.output.map(({ id }: Item) => id);
  expect(one).not.toBe(two);
  expect(events.map(({ response: shown, item, item_id }) => shown?.id ?? item?.id ?? item_id)).toEqual([
    response.id,
    ...[one, one, one, two, two, two],
    response.id,
  ]);
});

test('a stream that breaks is stored under the id that its first event had', async () => {
  const events = eventsOf(COUNTED, [messageOf('msg_1', 'One.')]).slice(0, 3);
  conversations.second.script({ sse: sse(events) });
  const reply = await send({ model: 'forgetful', input: 'hi', stream: true });
  const [first] = await collectSse(reply);
  const created = Object(JSON.parse(first?.data ?? ''));
  const stored = Object(await (await get(created.response.id)).json());
  expect([stored.status, textsOf(stored)]).toEqual(['failed', ['One.']]);
});

test('the bytes of a stream with proper ids, and of one that nobody can name, pass unchanged', async () => {
  for (const [ids, body] of [
    [PROPER, {}],
    [COUNTED, { store: false }],
  ] as const) {
    const bytes = sse(eventsOf(ids, [messageOf(ids.item, 'One.')]));
    conversations.second.script({ sse: bytes });
    const reply = await send({ model: 'forgetful', input: 'hi', stream: true, ...body });
    expect(await reply.text()).toBe(bytes);
  }
});
