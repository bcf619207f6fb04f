import { recordedStream } from '@gateway/simulator/recorded-stream';
import { expect, test } from 'vitest';
import { dataOf } from '../testing/test-streams.ts';
import { useConversations } from '../testing/use-conversations.ts';
import { isObject, type JsonObject, objectOf } from '../wire/json-object.ts';

/** Servers whose last event lacks what the items of the stream had: the items are what the caller gets, and what is kept. */

const stage = useConversations();

const model = 'forgetful';
const CALLS = 'responses-function-calls-parallel';

const eventsOf = (name: string): JsonObject[] =>
  dataOf(recordedStream(name)).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)]));
const streamOf = (events: readonly JsonObject[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const lastOf = (events: readonly JsonObject[]): JsonObject => objectOf(events.at(-1)?.response);
const outputOf = (response: JsonObject): JsonObject[] =>
  (Array.isArray(response.output) ? response.output : []).filter(isObject);

/** A recorded stream whose last response is another one. */
const ending = (name: string, change: (response: JsonObject) => JsonObject): string =>
  streamOf(
    eventsOf(name).map((event, index, all) =>
      index === all.length - 1 ? { ...event, response: change(objectOf(event.response)) } : event,
    ),
  );

const LACKS: Readonly<Record<string, (response: JsonObject) => JsonObject>> = {
  'an empty output': (response) => ({ ...response, output: [] }),
  'no output': ({ output: _, ...response }) => response,
  'an output of null': (response) => ({ ...response, output: null }),
  'only the first item': (response) => ({ ...response, output: outputOf(response).slice(0, 1) }),
  'only the last item': (response) => ({ ...response, output: outputOf(response).slice(-1) }),
  'items without their words': (response) => ({
    ...response,
    output: outputOf(response).map((item) => ({ ...item, arguments: '', status: 'in_progress' })),
  }),
  'its status from before': (response) => ({ ...response, status: 'in_progress', output: [] }),
};

async function streamed(sse: string, more: object = {}): Promise<JsonObject> {
  stage.simulatorOf(model).script({ sse });
  const reply = await stage.send({ model, input: 'hi', stream: true, ...more });
  return lastOf(dataOf(await reply.text()).flatMap((data) => (data === '[DONE]' ? [] : [JSON.parse(data)])));
}

test.for(Object.entries(LACKS))('a last event with %s is completed from the items', async ([, change]) => {
  const { status, output } = lastOf(eventsOf(CALLS));
  const shown = await streamed(ending(CALLS, change));
  expect(shown).toMatchObject({ status, output });
  expect(await (await stage.get(shown.id)).json()).toMatchObject({ status, output });
});

test('a tool result can be given for a call that the last event lacks, from a response or in a conversation', async () => {
  const sse = ending(CALLS, (response) => ({ ...response, output: [] }));
  const made = await stage.texts[0].fetch('/v1/conversations', { body: {} });
  const { id: conversation } = Object(await made.json());
  const results = outputOf(lastOf(eventsOf(CALLS))).map(({ call_id }) => ({
    type: 'function_call_output',
    call_id,
    output: '18 C',
  }));
  const { id } = await streamed(sse);
  const continued = await stage.send({ model: 'chat', input: results, previous_response_id: id });
  expect(continued.status).toBe(200);
  await streamed(sse, { conversation });
  expect((await stage.send({ model: 'messages', input: results, conversation })).status).toBe(200);
});

test('a message is completed from its deltas, where nothing else has it', async () => {
  const events = eventsOf('responses-text').filter(({ type }) =>
    /created|delta|completed/.test(String(type)),
  );
  const [first] = outputOf(lastOf(events));
  const shown = await streamed(
    streamOf(
      events.map((event) =>
        isObject(event.response) ? { ...event, response: { ...event.response, output: [] } } : event,
      ),
    ),
  );
  const [part] = [objectOf(first).content].flat();
  expect(outputOf(shown)).toMatchObject([
    { type: 'message', status: 'completed', content: [{ type: 'output_text', text: objectOf(part).text }] },
  ]);
});

test('a stream whose last event lacks nothing passes as it came', async () => {
  const sse = recordedStream(CALLS).toString();
  stage.simulatorOf(model).script({ sse });
  const reply = await stage.send({ model, input: 'hi', stream: true });
  expect(await reply.text()).toBe(sse);
});

test('the text that a server writes beside an empty output is its message, whole and streamed', async () => {
  const response = { ...lastOf(eventsOf('responses-text')), output: [], output_text: 'Hello there.' };
  const message = { type: 'message', content: [{ type: 'output_text', text: 'Hello there.' }] };
  stage.simulatorOf(model).script({ json: response });
  const whole = Object(await (await stage.send({ model, input: 'hi' })).json());
  expect(whole.output).toMatchObject([message]);
  expect(await (await stage.get(whole.id)).json()).toMatchObject({ output: [message] });
  expect(await streamed(streamOf([{ type: 'response.completed', response }]))).toMatchObject({
    output: [message],
  });
});

test('long numbers stay as they were written in items that replace an output', async () => {
  const item = '{"type":"mcp_call","id":"mcp_1","name":"n","arguments":{"id":2512292042121000001}}';
  const sse =
    `data: {"type":"response.output_item.done","output_index":0,"item":${item}}\n\n` +
    'data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}\n\n';
  stage.simulatorOf(model).script({ sse });
  const reply = await stage.send({ model, input: 'hi', stream: true });
  expect(await reply.text()).toContain(`"output":[{"type":"mcp_call","id":"mcp_1","name":"n"`);
  expect(await (await stage.get('resp_1')).text()).toContain('2512292042121000001');
});
