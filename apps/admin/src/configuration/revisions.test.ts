import { createStoredConfiguration } from '@gateway/upstream/configuration/stored/stored-configuration';
import { describe, expect, test } from 'vitest';
import { ConfigurationReply } from '../routes/operations/configuration-routes.ts';
import { RevisionDetailReply, RevisionPage, RevisionReply } from '../routes/operations/revision-routes.ts';
import { GATEWAY_SECRET, runAdmin, TOKEN } from '../testing/run-admin.ts';
import { useAdmin } from '../testing/use-admin.ts';
import { DraftedConfiguration } from './draft.ts';

const SECRET = 'sk-written-out-0123456789';
const FILE = `# of the whole house
channels:
  one: { provider: openai, apiKey: ${SECRET}, headers: { x-token: "Bearer \${HEADER_TOKEN}" } }
  two: { provider: anthropic, apiKey: "\${ANTHROPIC_API_KEY}" }
models:
  gpt-5: { kind: text, routes: [{ channel: one, weight: 10 }] }
`;
const SET = { HEADER_TOKEN: 'of-the-header', ANTHROPIC_API_KEY: 'of-anthropic' };

describe.for(['sqlite', 'postgres'] as const)('on %s', (dialect) => {
  const env = { CONFIGURATION_SOURCE: 'database' };
  const admin = useAdmin({ configuration: FILE, env, dialect, keepsData: true });

  const call = async (path: string, body?: unknown, url = admin.url) => {
    const response = await fetch(`${url}/admin/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...{ authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        'x-gateway-actor': 'ann',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const draft = async (body: unknown) =>
    DraftedConfiguration.parse((await call('/configuration/draft', body)).body);
  const save = (body: unknown) => call('/configuration/revisions', body);
  /** What a service has, which knows these variables. */
  const service = createServiceView(() => admin.redis);

  test('the file becomes the first revision; its secrets are sealed, and only the services read them', async () => {
    const { body } = await call('/configuration/revisions');
    expect(RevisionPage.parse(body).data).toMatchObject([{ number: 1, author: 'file' }]);
    const { text, base } = await draft({});
    expect(base).toBe(1);
    expect(text).toContain('# of the whole house');
    expect(text).toContain(`apiKey: "\${SEALED_ONE_APIKEY}"`);
    const found = await service();
    expect(found).toMatchObject({
      ...{ number: 1, text },
      env: { SEALED_ONE_APIKEY: SECRET, SEALED_ONE_HEADERS_X_TOKEN: 'Bearer of-the-header' },
    });
    const everything = [
      ...(await Promise.all(
        ['/configuration', '/configuration/revisions/1', '/audit'].map(
          async (path) => (await call(path)).body,
        ),
      )),
      await admin.redis.hgetall('gateway:configuration'),
      admin.output,
    ];
    expect(JSON.stringify(everything)).not.toContain(SECRET);
    expect(JSON.stringify(everything)).not.toContain('of-the-header');
  });

  test('a change is saved with its author and reason, and the services have it', async () => {
    const { text } = await draft({
      edits: [{ op: 'set', path: ['models', 'gpt-5', 'routes', 0, 'weight'], value: 50 }],
    });
    const saved = await save({ base: 1, text, reason: 'more for one' });
    expect(RevisionReply.parse(saved.body)).toMatchObject({
      number: 2,
      author: 'ann',
      reason: 'more for one',
    });
    expect(await service()).toMatchObject({ number: 2, text, env: { SEALED_ONE_APIKEY: SECRET } });
    const shown = ConfigurationReply.parse((await call('/configuration')).body);
    expect(shown).toMatchObject({
      source: 'database',
      revision: 2,
      isValid: true,
      unknownVariables: ['ANTHROPIC_API_KEY'],
    });
    const detail = RevisionDetailReply.parse((await call('/configuration/revisions/2')).body);
    expect(detail.changes?.map((change) => change.text)).toEqual(['Route of gpt-5 at one: weight 10 → 50']);
    const { body } = await call('/audit');
    expect(JSON.stringify(body)).toContain('Route of gpt-5 at one: weight 10 → 50');
  });

  test('a change of a revision that is not the last one is a conflict that says what came in between', async () => {
    const { text } = await draft({});
    const refused = await save({ base: 1, text: text.replace('weight: 50', 'weight: 7'), reason: 'late' });
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: {
          message: expect.stringMatching(
            /Revision 2 by ann \(more for one\): Route of gpt-5 at one: weight 10 → 50/,
          ),
        },
      },
    });
  });

  test('a text with mistakes is refused with their lines, and so is one that changes nothing', async () => {
    const { text } = await draft({});
    const broken = await save({ base: 2, text: text.replace('channel: one', 'channel: oen'), reason: 'x' });
    expect(broken).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringMatching(/line 6, models\.gpt-5\.routes\[0\]\.channel/) } },
    });
    expect((await save({ base: 2, text, reason: 'x' })).status).toBe(400);
    expect(
      (
        await save({
          base: 2,
          text: text.replace('SEALED_ONE_APIKEY', 'x').replace(`"\${x}"`, '"[masked]"'),
          reason: 'x',
        })
      ).status,
    ).toBe(400);
    expect((await save({ base: 2, text, reason: 'x', secrets: { NOT_NAMED: 'y' } })).status).toBe(400);
    expect((await call('/configuration/revisions/77')).status).toBe(404);
    expect((await service())?.number).toBe(2);
  });

  test('a secret gets a new value, and one that is typed into the text is sealed', async () => {
    const { text } = await draft({});
    await save({
      base: 2,
      text,
      reason: 'rotated',
      secrets: { SEALED_ONE_APIKEY: 'sk-the-second-0123456789' },
    });
    expect(await service()).toMatchObject({
      number: 3,
      text,
      env: { SEALED_ONE_APIKEY: 'sk-the-second-0123456789' },
    });
    const typed = text.replace(`"\${ANTHROPIC_API_KEY}"`, 'sk-ant-typed-0123456789');
    expect((await save({ base: 3, text: typed, reason: 'typed' })).status).toBe(200);
    expect(await service()).toMatchObject({ env: { SEALED_TWO_APIKEY: 'sk-ant-typed-0123456789' } });
    for (const path of ['/configuration/revisions/4', '/audit', '/configuration'])
      expect(JSON.stringify((await call(path)).body)).not.toMatch(/sk-ant-typed|sk-the-second/);
  });

  test('an earlier revision is made the last one again, with the values that were sealed since', async () => {
    const undone = await call('/configuration/revisions/1/restore', { base: 4, reason: 'back' });
    expect(RevisionReply.parse(undone.body)).toMatchObject({ number: 5, reason: 'back' });
    expect(await service()).toMatchObject({
      number: 5,
      text: expect.stringContaining('weight: 10'),
      env: { SEALED_ONE_APIKEY: 'sk-the-second-0123456789', ANTHROPIC_API_KEY: 'of-anthropic' },
    });
  });

  test('a Redis that was emptied gets it again, and another admin service changes the same', async () => {
    expect((await call('/configuration/revisions/5/restore', { reason: 'x' })).status).toBe(400);
    await admin.redis.flushall();
    await expect.poll(async () => (await service())?.number, { timeout: 20_000 }).toBe(5);
    const settings = { ...env, GATEWAY_DATA_DIR: admin.dataFolder, GATEWAY_CONFIG: admin.configurationPath };
    if (dialect === 'postgres') return;
    const other = await runAdmin(admin.server.url, settings);
    try {
      const { text } = await draft({});
      const saved = await call(
        '/configuration/revisions',
        { base: 5, text: `${text}# more\n`, reason: 'from there' },
        other.url,
      );
      expect(saved.status).toBe(200);
      expect((await draft({})).base).toBe(6);
      const all = await Promise.all(
        [admin.url, other.url].map((url, at) =>
          call('/configuration/revisions', { base: 6, text: `${text}# at ${at}\n`, reason: 'both' }, url),
        ),
      );
      expect(all.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    } finally {
      await other.stop();
    }
  });
});

function createServiceView(redis: () => Parameters<typeof createStoredConfiguration>[0]['redis']) {
  return () =>
    createStoredConfiguration({
      ...{ redis: redis(), env: SET, gatewaySecret: GATEWAY_SECRET },
      onProblem: (error) => {
        throw error;
      },
    }).read();
}
