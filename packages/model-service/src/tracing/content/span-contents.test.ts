import { parseConfiguration } from '@gateway/upstream/configuration/parse-configuration';
import { expect, onTestFinished, test } from 'vitest';
import { createSpanContents } from './span-contents.ts';

const SUBJECT = {
  identity: { keyId: 'key_1', team: null },
  model: 'gpt-5.2',
  headers: {},
};
const CONFIGURATION = parseConfiguration('channels: {}\nmodels: {}\n', 'gateway.yaml', {});

test('bodies that wait to be written to spans are bounded, a span without says so, and those after them are written', async () => {
  const contents = createSpanContents(() => CONFIGURATION, ['span'], { spans: 500, bytes: 1500 });
  onTestFinished(() => contents.close());
  const written = () => {
    const content = contents.begin(SUBJECT);
    const json = Buffer.from(JSON.stringify({ input: 'x'.repeat(1000) }));
    content?.end({ request: { json }, answer: null, isOverlong: false });
    return content?.attributes;
  };
  const [first, second] = [written(), written()];
  expect(await second).toEqual({ 'gateway.content.dropped': 'busy' });
  expect(await first).toHaveProperty('gen_ai.input.messages');
  await contents.close();
  expect(await written()).toHaveProperty('gen_ai.input.messages');
});
