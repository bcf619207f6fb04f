import { expect, test } from 'vitest';
import { publishedSchema, publishedValues } from '../testing/published-schemas.ts';
import { MODELS, useConversations } from '../testing/use-conversations.ts';
import { type JsonObject, objectOf } from '../wire/json-object.ts';
import { listedItems, shownItem } from './shown-item.ts';

const stage = useConversations();

const LISTED = publishedSchema('openai-schemas', 'ItemResource');

/** The items that requests have, beside references and the trigger of a compaction. */
const SENT = ['EasyInputMessage', 'Item', 'ProgramItemParam', 'ProgramOutputItemParam'];

/** Those that differ from their description in more than one place are none. */
const itemsOf = ({ optional }: { readonly optional: boolean }) =>
  SENT.flatMap((root) => {
    const schema = publishedSchema('openai-schemas', root);
    return publishedValues('openai-schemas', root, optional)
      .filter((value) => schema.safeParse(value).success)
      .map(objectOf);
  });

const SHORTEST = itemsOf({ optional: false });
const LONGEST = itemsOf({ optional: true });

const SOUND = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };

/** What older or looser clients leave out, or write in another way. */
const LOOSE: readonly JsonObject[] = [
  { role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
  { role: 'assistant', content: [{ type: 'input_text', text: 'hi' }] },
  { role: 'user', content: [{ type: 'output_text', text: 'hi' }] },
  { role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png', detail: null }] },
  { type: null, role: 'user', content: 'hi', status: null },
  { type: 'reasoning' },
  { type: 'compaction_summary', encrypted_content: 'abc' },
  { type: 'web_search_call' },
  { type: 'file_search_call' },
  { type: 'image_generation_call' },
  { type: 'code_interpreter_call', container_id: 'cntr_1' },
  { type: 'computer_call', call_id: 'call_1' },
  { type: 'local_shell_call', call_id: 'call_1', action: { type: 'exec', command: ['ls'] } },
  { type: 'apply_patch_call', call_id: 'call_1', operation: { type: 'delete_file', path: 'a' } },
  { type: 'apply_patch_call_output', call_id: 'call_1' },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
  { type: 'additional_tools', tools: [{ type: 'function', name: 'f' }] },
  { role: 'user', content: [{ type: 'text', text: 'hi' }, SOUND] },
  {
    role: 'assistant',
    content: [{ type: 'text', text: 'hi' }, { type: 'input_image', file_id: 'f' }, SOUND],
  },
  { type: 'function_call', call_id: 'call_1', name: 'f', arguments: { x: 1 } },
  { type: 'function_call', call_id: 'call_1', name: 'f' },
  { type: 'function_call_output', call_id: 'call_1', output: [SOUND, { type: 'text', text: 'hi' }] },
  { type: 'function_call_output', call_id: 'call_1', output: { x: 1 } },
  { type: 'custom_tool_call_output', call_id: 'call_1' },
  { type: 'computer_call_output', call_id: 'call_1', output: { type: 'input_image', image_url: 'data:,' } },
  { type: 'mcp_call', name: 'f', server_label: 's', arguments: { x: 1 }, output: { y: 2 } },
];

function expectListed(shown: unknown, sent: unknown): void {
  const { error } = LISTED.safeParse(shown);
  if (error)
    throw new Error(`${JSON.stringify(sent)} → ${JSON.stringify(shown)}: ${error.message.slice(0, 1500)}`);
}

test('an item of every kind, in every form that requests have, is shown as the description demands', () => {
  const types = new Set(SHORTEST.map(({ type }) => type));
  expect(types.size).toBeGreaterThan(25);
  for (const item of [...SHORTEST, ...LONGEST, ...LOOSE])
    expectListed(shownItem({ id: 'it_1', json: JSON.stringify(item) }), item);
});

test('what was sent is shown, with a number as it was written', () => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], status: 'incomplete', extra: { a: null } };
  expect(shownItem({ id: 'rs_1', json: JSON.stringify(item) })).toEqual(item);
  const long = shownItem({ id: 'it_1', json: '{"type":"custom","big":12345678901234567890,"none":null}' });
  expect(JSON.stringify(long)).toBe('{"type":"custom","big":12345678901234567890,"none":null,"id":"it_1"}');
});

test('sound is shown as a file, and arguments as their text, with their numbers as written', () => {
  const shown = (json: string) => shownItem({ id: 'it_1', json });
  expect(shown(JSON.stringify({ role: 'user', content: [SOUND] })).content).toEqual([
    { type: 'input_file', filename: 'audio.wav', file_data: 'data:audio/wav;base64,UklGRg==' },
  ]);
  const call = '{"type":"function_call","call_id":"c","name":"f","arguments":{"x":1.0}}';
  expect(shown(call).arguments).toBe('{"x":1.0}');
});

test('a reference to what only its provider has, and a trigger, are on no page of a list', () => {
  const items = [
    { type: 'item_reference', id: 'rs_1' },
    { id: 'msg_1' },
    { role: 'user', content: 'hi' },
    { type: 'compaction_trigger' },
  ].map((item) => ({ id: 'it_1', json: JSON.stringify(item), maker: null }));
  expect(listedItems(items)).toEqual([items[2]]);
});

test('a conversation answers with, lists and reads valid items of every kind', async () => {
  const [text] = stage.texts;
  const items = [...SHORTEST, ...LOOSE];
  const made = Object(await (await text.fetch('/v1/conversations', { body: {} })).json());
  const path = `/v1/conversations/${made.id}/items`;
  for (let start = 0; start < items.length; start += 20) {
    const added = await text.fetch(path, { body: { items: items.slice(start, start + 20) } });
    for (const [index, item] of Object(await added.json()).data.entries())
      expectListed(item, items[start + index]);
  }
  const { data } = Object(await (await text.fetch(`${path}?order=asc&limit=100`)).json());
  expect(data.length).toBe(Math.min(100, items.length));
  for (const [index, item] of data.entries()) expectListed(item, items[index]);
  for (const { id } of [data.at(0), data.at(-1)]) {
    const one = await (await text.fetch(`${path}/${id}`)).json();
    expectListed(one, id);
  }
});

const IMAGE = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
const CALL = { call_id: 'call_1' };
const INPUT: readonly JsonObject[] = [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
  { role: 'user', content: [{ type: 'input_text', text: 'look' }, IMAGE] },
  { type: 'function_call', ...CALL, name: 'look', arguments: '{}' },
  { type: 'function_call_output', ...CALL, output: [IMAGE] },
];

test.for(MODELS)('%s: the input of a response is listed in valid items', async (model) => {
  const { id } = await stage.create({ model, input: INPUT });
  const body = JSON.parse(String(stage.simulatorOf(model).requests.at(-1)?.body));
  if (model === 'responses' || model === 'forgetful') expect(body.input).toEqual(INPUT);
  const list = await stage.texts[1].fetch(`/v1/responses/${id}/input_items?order=asc`);
  const { data } = Object(await list.json());
  expect(data.map(({ type }: JsonObject) => type)).toEqual(INPUT.map(({ type }) => type ?? 'message'));
  for (const [index, item] of data.entries()) expectListed(item, INPUT[index]);
  expect(data[2].content[1]).toEqual({ ...IMAGE, detail: 'auto' });
});
