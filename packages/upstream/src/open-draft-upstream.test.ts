import { expect, test } from 'vitest';
import { createSealedValues } from './configuration/stored/sealed-values.ts';
import { openDraftUpstream } from './open-draft-upstream.ts';

const values = createSealedValues('a gateway secret of more than 32 characters');
const OWN = ['GATEWAY_SECRET', 'REDIS_URL', 'REDIS_DEFAULT_URL', 'REDIS_PASSWORD', 'WEBHOOK_SECRET'];
const env = { ...Object.fromEntries(OWN.map((name) => [name, 'our-own'])), KEY: 'sk-of-the-provider' };
const open = (apiKey: string, secrets: Record<string, string> = {}) =>
  openDraftUpstream({
    draft: {
      text: `channels: { one: { provider: openai, baseUrl: "http://127.0.0.1:9/v1", apiKey: "${apiKey}" } }\nmodels: {}\n`,
      secrets,
    },
    ...{ values, path: 'gateway.yaml', env },
  });

test("a draft's channels get variables for providers, and never what opens the gateway itself", async () => {
  const upstream = await open(`\${KEY}`);
  await upstream.destroy();
  for (const name of OWN) await expect(open(`\${${name}}`)).rejects.toThrow();
  // Nor by way of a sealed value that names it.
  await expect(open(`\${HIDDEN}`, { HIDDEN: values.seal('HIDDEN', `\${GATEWAY_SECRET}`) })).rejects.toThrow();
});
