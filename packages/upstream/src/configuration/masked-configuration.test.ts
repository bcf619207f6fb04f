import { expect, test } from 'vitest';
import { maskedConfiguration } from './masked-configuration.ts';
import { parseConfiguration } from './parse-configuration.ts';

const SECRET = 'sk-very-secret-0123456789';

test('no secret of a configuration is shown, wherever it stands', () => {
  const shown = maskedConfiguration(`
# the old key was ${SECRET}
channels:
  one: { provider: openai, apiKey: ${SECRET}, headers: { x-key: ${SECRET} }, baseUrl: "https://me:${SECRET}@a.example/v1?key=${SECRET}", proxy: "http://me:${SECRET}@proxy.example:3128" }
  two:
    provider: openai
    apiKeys: { first: ${SECRET}, weight: ${SECRET}-of-weight, auth: ${SECRET}, second: { apiKey: ${SECRET}, weight: 3 }, third: { auth: { type: entra, tenantId: tenant-1, clientSecret: ${SECRET} } } }
  three: { provider: openai, auth: { type: oauth, tokenUrl: "https://a.example/token", clientSecret: ${SECRET}, parameters: { apikey: ${SECRET} } } }
  four: { provider: openai, auth: { type: aws, secretAccessKey: ${SECRET}, sessionToken: ${SECRET}, roleArn: "arn:aws:iam::1:role/x" } }
`);
  expect(shown).not.toContain(SECRET);
  expect(shown).toContain('weight: 3');
  expect(shown).toContain('a.example/v1');
  for (const member of ['tenant-1', 'https://a.example/token', 'arn:aws:iam::1:role/x'])
    expect(shown).toContain(member);
  expect(shown).toContain('@proxy.example:3128');
});

test('a secret by an anchor is masked, and a variable shows its name', () => {
  const shown = maskedConfiguration(
    `channels:\n  one: &one { provider: openai, apiKey: ${SECRET} }\n  two: { <<: *one, apiKey: "\${OPENAI_API_KEY}" }\n  three: *one\n`,
  );
  expect(shown).not.toContain(SECRET);
  expect(shown).toMatch(/\$\{OPENAI_API_KEY\}/);
});

test('what is shown of receivers of alerts has no secret, and is a valid configuration', () => {
  const shown = maskedConfiguration(`
channels: { one: { provider: openai, apiKey: ${SECRET} } }
models: { gpt-5.2: { kind: text, routes: [{ channel: one }] } }
alerts:
  receivers:
    chat: { type: slack, url: "https://hooks.slack.com/services/T1/B1/${SECRET}" }
    team: { type: teams, url: "\${TEAMS_URL}" }
    own: { type: webhook, url: "https://ops.example.com/alerts?token=${SECRET}", secret: "whsec_${'c2VjcmV0'.repeat(5)}" }
    mail: { type: email, smtpUrl: "smtp://me:${SECRET}@mail.example.com:587", from: a@example.com, to: [b@example.com] }
  rules: [{ receivers: [chat, team, own, mail] }]
`);
  expect(shown).not.toMatch(/very-secret|c2VjcmV0|T1/);
  expect(shown).toMatch(/\$\{TEAMS_URL\}/);
  for (const part of ['https://hooks.slack.com/[masked]', '[masked]@mail.example.com:587'])
    expect(shown).toContain(part);
  expect(() => parseConfiguration(shown, 'gateway.yaml', {}, 'http://placeholder')).not.toThrow();
});
