import { expect, test } from 'vitest';
import type { ConfigurationEdit } from './configuration-edit.ts';
import { describeChanges } from './describe-changes.ts';
import { editText, ImpossibleEdit } from './edit-text.ts';
import { shownText, writtenSecrets } from './shown-text.ts';
import { unmasked } from './take-secrets.ts';

const TEXT = `# Who calls whom
channels:
  one:   { provider: openai, apiKey: sk-written-out-0123456789 }   # our own
  two:
    provider: anthropic
    apiKey: \${ANTHROPIC_API_KEY}

models:
  gpt-5:
    kind: text
    # the cheap one first
    routes:
    - { channel: one, weight: 10 }   # since spring
    - { channel: two, model: claude-x }
    price: { inputPerMTok: 1.25, outputPerMTok: 10 }
  "5": { kind: text, routes: [{ channel: two }] }
`;

test('an edit changes its lines only: comments, order and spaces of all others stay', () => {
  const edited = editText(TEXT, [
    { op: 'set', path: ['models', 'gpt-5', 'routes', 0, 'weight'], value: 50 },
    { op: 'add', path: ['models', 'gpt-5', 'routes'], value: { channel: 'one', model: 'gpt-5.5' } },
    { op: 'set', path: ['models', '5', 'price', 'inputPerMTok'], value: 2 },
  ]);
  const [before, after] = [TEXT.split('\n'), edited.split('\n')];
  expect(after.filter((line) => !before.includes(line))).toEqual([
    expect.stringMatching(/^ +- \{ channel: one, weight: 50 \} +# since spring$/),
    expect.stringMatching(/^ +- \{ channel: one, model: gpt-5.5 \}$/),
    expect.stringContaining('price'),
  ]);
  expect(before.filter((line) => !after.includes(line))).toHaveLength(2);
});

test('an entry is removed with its lines, and a section that is empty takes a first one', () => {
  const removed = editText(TEXT, [{ op: 'remove', path: ['models', 'gpt-5'] }]);
  expect(removed).not.toContain('gpt-5');
  expect(removed).toContain('# our own');
  const path = ['channels', 'a'];
  for (const text of ['', 'channels:\nmodels:\n', 'models: {}\n'])
    expect(editText(text, [{ op: 'set', path, value: { provider: 'simulator' } }])).toMatch(
      /a:\n {4}provider: simulator/,
    );
});

test('an edit that leads nowhere is refused, and says which it was', () => {
  const first: ConfigurationEdit = { op: 'set', path: ['models', 'm', 'kind'], value: 'text' };
  expect(() => editText(TEXT, [first, { op: 'remove', path: ['models', 'none'] }])).toThrow(
    expect.objectContaining({ at: 1, message: 'There is no models.none.' }),
  );
  expect(() => editText(TEXT, [{ op: 'add', path: ['models', 'gpt-5', 'kind'], value: 1 }])).toThrow(
    ImpossibleEdit,
  );
  const aliased = 'channels:\n  a: &a { provider: openai }\n  b: *a\nmodels: {}\n';
  expect(() => editText(aliased, [{ op: 'set', path: ['channels', 'b', 'weight'], value: 1 }])).toThrow(
    /channels.b is an alias/,
  );
  expect(() => editText('channels: [', [first])).toThrow(/not YAML/);
});

test('changes are told in words, and no secret is in them', () => {
  const texts = (after: string) => describeChanges(TEXT, after).map(({ text }) => text);
  const edited = editText(TEXT, [
    { op: 'set', path: ['models', 'gpt-5', 'routes', 0, 'weight'], value: 50 },
    { op: 'set', path: ['models', 'gpt-5', 'price', 'inputPerMTok'], value: 1 },
    { op: 'remove', path: ['models', 'gpt-5', 'routes', 1] },
    { op: 'remove', path: ['models', '5'] },
    { op: 'set', path: ['models', 'new'], value: { kind: 'text', routes: [{ channel: 'two' }] } },
    { op: 'set', path: ['channels', 'one', 'apiKey'], value: 'sk-another-one-0123456789' },
    { op: 'set', path: ['channels', 'two', 'cooldown'], value: 'off' },
    { op: 'set', path: ['channels', 'two', 'apiKey'], value: `\${OTHER_KEY}` },
    { op: 'set', path: ['conversations'], value: { retentionDays: 3 } },
  ]);
  expect(texts(edited)).toEqual([
    'Channel one: apiKey changed',
    `Channel two: apiKey \${ANTHROPIC_API_KEY} → \${OTHER_KEY}`,
    'Channel two: cooldown set to off',
    'Model 5 removed',
    'Model gpt-5: price.inputPerMTok 1.25 → 1',
    'Route of gpt-5 at two removed',
    'Route of gpt-5 at one: weight 10 → 50',
    'Model new added (text, at two)',
    'Conversations: retentionDays set to 3',
  ]);
  const swapped = TEXT.replace(
    'channel: one, weight: 10',
    'channel: two, model: claude-x, weight: 1',
  ).replace('- { channel: two, model: claude-x }\n', '- { channel: one, weight: 10 }\n');
  expect(texts(swapped)).toContain('Routes of gpt-5: in another order');
  expect(texts(TEXT.replace('# our own', '# theirs'))).toEqual([]);
});

test('a text is shown as it was written, without its secrets and without keys in comments', () => {
  const shown = shownText(
    `${TEXT}# once sk-an-older-key-0123456789, or aK3jd92kfLs02kfjaLx81\nalerts:\n  receivers:\n    a: { type: slack, url: https://hooks.example.com/T0/secret }\n`,
  );
  expect(shown).not.toMatch(/0123456789|aK3jd|T0\/secret/);
  expect(shown).toContain('  one:   { provider: openai, apiKey: "[masked]" }   # our own\n');
  expect(shown).toContain('# [masked]\n');
  expect(shown).toContain('"https://hooks.example.com/[masked]"');
  expect(writtenSecrets(shown)).toEqual([]);
  expect(writtenSecrets(TEXT)).toMatchObject([
    { path: ['channels', 'one', 'apiKey'], value: 'sk-written-out-0123456789' },
  ]);
});

test('what a draft shows masked is the secret at the same place again, and at no other', () => {
  const base = `channels:
  one: { provider: openai, apiKey: sk-of-one-0123456789, headers: { x-token: "t-1" } }
  two: { provider: openai, apiKey: "\${TWO_KEY}" }
`;
  const draft = shownText(base)
    .replace('two:', 'three:')
    .concat('  four: { provider: openai, apiKey: "[masked]" }\n');
  expect(draft).not.toContain('sk-of-one');
  expect(unmasked(draft, base)).toBe(
    draft
      .replace('apiKey: "[masked]", headers', 'apiKey: "sk-of-one-0123456789", headers')
      .replace('x-token: "[masked]"', 'x-token: "t-1"'),
  );
});
