import Anthropic from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../start-simulator.ts';

const clientOf = ({ url }: Simulator) => new Anthropic({ baseURL: url, apiKey: 'key', maxRetries: 0 });

const BASE = { model: 'claude-sonnet-5-5', max_tokens: 100, betas: ['message-threads-2026-08-12'] };
const user = (content: string) => ({ role: 'user' as const, content });

const refusalOf = async (request: Promise<unknown>) => {
  const error: unknown = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Anthropic.APIError)) throw error;
  return { status: error.status, code: Object(error.error).error.details?.error_code };
};

test("the official helper's turns send what is new, and the whole conversation counts", async () => {
  await using simulator = await startSimulator();
  const thread = clientOf(simulator).beta.messages.thread({ model: BASE.model, max_tokens: 100 });
  const first = await thread.send(user('How are you today?'));
  const second = await thread.send(user('And now?'));
  expect(second.usage.input_tokens).toBeGreaterThan(first.usage.input_tokens + 2);
  const sent = simulator.requests.map((request) => Object(request.json()));
  expect(sent.map(({ thread: turn }) => turn)).toEqual([
    { type: 'create' },
    { type: 'continue', previous_message_id: first.id },
  ]);
});

test('a turn is refused in the provider’s words if its thread is unknown, already continued or different', async () => {
  await using simulator = await startSimulator();
  const { messages } = clientOf(simulator).beta;
  const create = () => messages.create({ ...BASE, messages: [user('Hi')], thread: { type: 'create' } });
  const goOn = (id: string, more: object = {}) =>
    messages.create({
      ...BASE,
      messages: [user('And?')],
      thread: { type: 'continue', previous_message_id: id },
      ...more,
    });
  expect(await refusalOf(goOn('msg_unknown'))).toEqual({ status: 404, code: 'thread_not_found' });
  const { id } = await create();
  expect(await refusalOf(goOn(id, { model: 'claude-other' }))).toEqual({
    status: 400,
    code: 'thread_fingerprint_mismatch',
  });
  await goOn(id, { messages: [] });
  expect(await refusalOf(goOn(id))).toEqual({ status: 400, code: 'thread_already_continued' });
  const plain = messages.create({ ...BASE, betas: [], messages: [user('Hi')], thread: { type: 'create' } });
  expect(await refusalOf(plain)).toEqual({ status: 400, code: undefined });
});

test('a turn whose stream broke can be made again', async () => {
  await using simulator = await startSimulator();
  const { messages } = clientOf(simulator).beta;
  const { id } = await messages.create({ ...BASE, messages: [user('Hi')], thread: { type: 'create' } });
  const goOn = () =>
    messages
      .stream({ ...BASE, messages: [user('And?')], thread: { type: 'continue', previous_message_id: id } })
      .finalMessage();
  simulator.script('/v1/messages', { cutAfter: 2 });
  await expect(goOn()).rejects.toThrow();
  expect((await goOn()).stop_reason).toBe('end_turn');
});
