import { expect, test } from 'vitest';
import type { Alerts } from './alerts.ts';
import { maskedConfiguration } from './masked-configuration.ts';
import { ConfigurationError } from './mistakes/configuration-error.ts';
import { parseConfiguration } from './parse-configuration.ts';

const REST = `channels:
  one: { provider: openai, apiKey: some-key }
models:
  gpt-5: { kind: text, routes: [{ channel: one }] }
`;
const SECRET = `whsec_${'a'.repeat(40)}`;
const ALERTS = `alerts:
  receivers:
    ops: { type: slack, url: "\${SLACK_URL}" }
    pager: { type: webhook, url: https://pager.example.com/hook, secret: ${SECRET} }
    people: { type: email, smtpUrl: "smtp://ann:pass-word@mail.example.com", from: Gateway <gateway@example.com>, to: [ops@example.com] }
  rules:
    - { receivers: [ops, pager], severity: urgent, kinds: [model_slow], channels: [one], models: ["gpt-*"], teams: [search] }
    - { receivers: [people], afterSeconds: 0, repeatHours: 1, maxRepeats: 0 }
  quietHours: { from: "22:00", to: "07:00" }
  weeklyReport: { receivers: [people] }
  thresholds: { budgetShares: [1, 0.5, 0.5], slowdown: 3 }
`;

const parse = (alerts: string, env: Record<string, string> = {}, placeholder?: string): Alerts =>
  parseConfiguration(REST + alerts, 'gateway.yaml', env, placeholder).alerts;

function mistakesOf(alerts: string): string[] {
  try {
    parse(alerts);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.mistakes.map(
      ({ line, path, found, expected }) => `${line} ${path}: found ${found}, expected ${expected}`,
    );
  }
  return [];
}

test('a section of alerts is read, with its defaults', () => {
  const alerts = parse(ALERTS, { SLACK_URL: 'https://hooks.slack.com/services/T/B/x' });
  expect([...alerts.receivers.keys()]).toEqual(['ops', 'pager', 'people']);
  expect(alerts.receivers.get('ops')).toEqual({
    ...{ name: 'ops', missing: [] },
    settings: { type: 'slack', url: 'https://hooks.slack.com/services/T/B/x' },
  });
  expect(alerts.rules).toMatchObject([
    { isUrgentOnly: true, kinds: ['model_slow'], teams: ['search'], afterMs: 60_000, maxRepeats: 3 },
    { isUrgentOnly: false, kinds: null, teams: null, afterMs: 0, repeatMs: 3_600_000, maxRepeats: 0 },
  ]);
  expect(alerts.quietHours).toEqual({ from: '22:00', to: '07:00', days: null, holdsUrgent: false });
  expect(alerts.weeklyReport).toEqual({ receivers: ['people'], day: 'monday', at: '08:00' });
  expect(alerts.thresholds).toMatchObject({ budgetShares: [0.5, 1], slowdown: 3, failureRate: 0.2 });
});

test('without a section nobody is told of anything', () => {
  expect(parse('')).toMatchObject({ rules: [], quietHours: null, weeklyReport: null });
});

test('a process that sends no alerts need not have their variables, and one that does knows which it lacks', () => {
  expect(parse(ALERTS).receivers.get('ops')?.missing).toEqual(['SLACK_URL']);
  expect(parse(ALERTS, {}, 'http://placeholder').receivers.get('ops')?.missing).toEqual(['SLACK_URL']);
  expect(parse(ALERTS, { SLACK_URL: 'https://hooks.slack.com/a' }).receivers.get('people')?.missing).toEqual(
    [],
  );
  // Everywhere else a variable that is missing is a mistake.
  expect(() => parse('', {})).not.toThrow();
  expect(() => parseConfiguration(REST.replace('some-key', `"\${NOT_SET}"`), 'f', {})).toThrow(
    ConfigurationError,
  );
});

test('a receiver whose secret or mail server is a variable that is missing leaves the others as they are', () => {
  const section = ALERTS.replace(SECRET, `"\${SECRET_OF_PAGER}"`).replace(/"smtp:[^"]*"/, `"\${SMTP_URL}"`);
  for (const placeholder of [undefined, 'http://placeholder']) {
    const { receivers, rules } = parse(section, {}, placeholder);
    expect([...receivers.values()].map(({ name, missing }) => [name, missing])).toEqual([
      ['ops', ['SLACK_URL']],
      ['pager', ['SECRET_OF_PAGER']],
      ['people', ['SMTP_URL']],
    ]);
    expect(rules).toHaveLength(2);
  }
});

test.for([
  ['from: Gateway <gateway@example.com>', `from: "\${MAIL_ADDRESS}"`],
  ['from: Gateway <gateway@example.com>', `from: "Gateway <\${MAIL_ADDRESS}>"`],
  ['to: [ops@example.com]', `to: ["\${MAIL_ADDRESS}"]`],
] as const)(
  'with %s as %s, a variable that is missing leaves all receivers and rules',
  ([plain, variable]) => {
    const section = ALERTS.replace(plain, variable);
    const { receivers, rules } = parse(section);
    expect([...receivers.keys()]).toEqual(['ops', 'pager', 'people']);
    expect(receivers.get('people')?.missing).toEqual(['MAIL_ADDRESS']);
    expect(rules).toHaveLength(2);
    expect(() => parse(section, { SLACK_URL: 'https://a.example.com', MAIL_ADDRESS: 'nobody' })).toThrow(
      ConfigurationError,
    );
  },
);

test.for([
  [
    'a receiver that does not exist',
    'channels: [one]',
    'receivers: [opps]',
    /9 .*receivers\[0\].*one of the receivers ops.*did you mean "ops"/,
  ],
  [
    'a channel that does not exist',
    'channels: [onee]',
    'receivers: [ops]',
    /9 .*channels\[0\].*one of the channels one.*did you mean "one"/,
  ],
  [
    'a kind that there is not',
    'kinds: [model_slwo]',
    'receivers: [ops]',
    /9 .*kinds\[0\].*did you mean "model_slow"/,
  ],
  ['a rule for nobody', 'channels: [one]', 'receivers: []', /9 .*receivers: .*at least 1 entry/],
  [
    'a member that there is not',
    'chanels: [one]',
    'receivers: [ops]',
    /9 .*chanels.*did you mean "channels"/,
  ],
] as const)('%s is a mistake with its line', ([, other, receivers, expected]) => {
  const section = `alerts:
  receivers:
    ops: { type: slack, url: https://hooks.slack.com/a }
  rules:
    - { ${receivers}, ${other} }
`;
  expect(mistakesOf(section)).toEqual([expect.stringMatching(expected)]);
});

test.for([
  [
    'ops: { type: slak, url: https://hooks.example.com }',
    /a mapping with the type slack, teams, webhook or email/,
  ],
  ['ops: { type: slack, url: "ftp://a-secret-address" }', /an http or https URL/],
  [
    'ops: { type: webhook, url: https://a.example.com, secret: a-secret-text }',
    /whsec_ and 24 to 64 random bytes/,
  ],
  ['ops: { type: email, smtpUrl: mail.example.com, from: a@b.c, to: [a@b.c] }', /a URL such as smtp:/],
  [
    'ops: { type: email, smtpUrl: "smtp://a-secret:text@m.example.com", from: nobody, to: [a@b.c] }',
    /an e-mail address/,
  ],
  // The password's signs would end the host, and part of it would be taken for one.
  [
    'ops: { type: email, smtpUrl: "smtp://user:12/a-secret@m.example.com", from: a@b.c, to: [a@b.c] }',
    /signs such as @ \/ % percent-encoded/,
  ],
  [
    'ops: { type: email, smtpUrl: "smtp://user:a-secret%sign@m.example.com", from: a@b.c, to: [a@b.c] }',
    /signs such as @ \/ % percent-encoded/,
  ],
  ['"a name": { type: slack, url: https://hooks.example.com }', /up to 64 letters, digits/],
] as const)('the receiver %s is a mistake that shows no secret', ([entry, expected]) => {
  const found = mistakesOf(`alerts:\n  receivers:\n    ${entry}\n`);
  expect(found).toEqual([expect.stringMatching(expected)]);
  expect(found.join()).not.toContain('a-secret');
});

test("receivers' addresses and secrets are masked where the configuration is shown", () => {
  const shown = maskedConfiguration(REST + ALERTS);
  expect(shown).toMatch(/\$\{SLACK_URL\}/);
  expect(shown).toContain('ops@example.com');
  for (const secret of [SECRET, 'pass-word']) expect(shown).not.toContain(secret);
});
