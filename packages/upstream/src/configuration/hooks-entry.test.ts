import { expect, test } from 'vitest';
import { maskedConfiguration } from './masked-configuration.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const REST = `channels: { any: { provider: simulator, baseUrl: http://127.0.0.1:1 } }
models: { m: { kind: text, routes: [{ channel: any }] } }
`;
const hooks = (section: string) => parseConfiguration(REST + section, 'gateway.yaml', {}).hooks;

function mistakesIn(section: string): string[] {
  try {
    parseConfiguration(REST + section, 'gateway.yaml', {});
  } catch (error) {
    if (error instanceof ConfigurationError)
      return error.mistakes.map(
        ({ line, path, found, expected }) => `${line} ${path}: found ${found}, expected ${expected}`,
      );
    throw error;
  }
  return [];
}

test('a hook has the defaults of its kind, and its key is a secret', () => {
  const section = `hooks:
  pii: { kind: generic, baseUrl: http://127.0.0.1:8000/guard/, apiKey: a-key-of-the-hook }
  mod: { kind: moderation, apiKey: sk-0123456789, input: beside, output: report }
  aws: { kind: bedrock, region: eu-central-1, guardrail: { id: "arn:aws:bedrock:eu-central-1:1:guardrail/abc", version: "3" }, auth: { type: aws } }
`;
  const [pii, mod, aws] = hooks(section);
  expect(pii).toMatchObject({
    name: 'pii',
    origin: 'http://127.0.0.1:8000',
    path: '/guard/beta/litellm_basic_guardrail_api',
    input: 'before',
    output: 'off',
    windowChars: 800,
    overlapChars: 200,
    timeoutMs: 5000,
    onFailure: 'block',
    maxChars: 200_000,
    rules: null,
  });
  expect(pii?.secrets.headers).toEqual([['x-api-key', 'a-key-of-the-hook']]);
  expect(mod).toMatchObject({ origin: 'https://api.openai.com', path: '/v1/moderations', input: 'beside' });
  expect(mod?.secrets.headers).toEqual([['authorization', 'Bearer sk-0123456789']]);
  expect(aws).toMatchObject({
    origin: 'https://bedrock-runtime.eu-central-1.amazonaws.com',
    path: '/guardrail/arn%3Aaws%3Abedrock%3Aeu-central-1%3A1%3Aguardrail%2Fabc/version/3/apply',
  });
  expect(aws?.secrets.auth).toMatchObject({ type: 'aws', region: 'eu-central-1', service: 'bedrock' });
  expect(JSON.stringify(pii)).not.toContain('a-key-of-the-hook');
  const shown = maskedConfiguration(REST + section);
  expect(shown).not.toMatch(/a-key-of-the-hook|sk-0123456789/);
});

test('mistakes are named with their lines, and without keys', () => {
  const section = `hooks:
  one: { kind: generic }
  two: { kind: moderation, apiKey: sk-0123456789, input: off }
  three: { kind: generic, baseUrl: "ftp://x", guardrail: { id: a, version: "1" }, timeoutMs: 0 }
  four: { kind: bedrock, region: eu-central-1 }
  five: { kind: generic, baseUrl: http://127.0.0.1:1, windowChars: 100, overlapChars: 100 }
`;
  const mistakes = mistakesIn(section);
  expect(mistakes).toEqual([
    expect.stringMatching(/^4 hooks\.one\.baseUrl: .* the address of the hook's server/),
    expect.stringMatching(/^5 hooks\.two\.input: .* a hook that checks something/),
    expect.stringMatching(/^6 hooks\.three\.baseUrl: .* http:\/\/ or https:\/\//),
    expect.stringMatching(/^6 hooks\.three\.guardrail: .* this is one of bedrock/),
    expect.stringMatching(/^6 hooks\.three\.timeoutMs: found 0/),
    expect.stringMatching(/^7 hooks\.four\.guardrail: .* the id and the version/),
    expect.stringMatching(/^7 hooks\.four\.apiKey: .* either apiKey, Bedrock's own, or auth/),
    expect.stringMatching(/^8 hooks\.five\.overlapChars: .* less than windowChars/),
  ]);
  expect(mistakes.join()).not.toContain('sk-0123456789');
});
