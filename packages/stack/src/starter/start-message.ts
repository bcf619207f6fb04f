import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { MODEL_KINDS } from '@gateway/upstream/protocol';
import type { SecretSource } from '../secrets.ts';
import type { Stack } from '../start-stack.ts';
import { quoted, sampleCommands } from './sample-commands.ts';

interface StartMessageOptions {
  readonly stack: Stack;
  /** `host:port` of Redis, without its password. */
  readonly redisAddress: string;
  /** The file that a person would edit. */
  readonly configurationPath: string;
  readonly dataDir: string;
  /** Null on a terminal, where a person reads the key and the token; else what says where they are. */
  readonly sources: { readonly key: SecretSource; readonly adminToken: SecretSource } | null;
  /** Absolute path of the folder with the example files. */
  readonly examples: string;
}

const SOURCES: Readonly<Record<Configuration['source'], (path: string) => string>> = {
  file: (path) => `from ${path}`,
  environment: () => 'made from the provider keys in the environment',
  simulator: () => 'the built-in simulator, because no provider is configured',
};

/** The message that `npm start` prints once the gateway runs. */
export function startMessage(options: StartMessageOptions): string {
  const { stack, configurationPath, dataDir } = options;
  const { configuration, edgeUrl, key, adminUrl, adminToken } = stack;
  const { sources, examples } = options;
  const authorization = authorizationOf(sources?.key ?? null, key);
  const commands = sampleCommands(configuration, { edgeUrl, authorization, examples });
  return [
    '',
    'The gateway is running.',
    '',
    ...processLines(options),
    '',
    `Channels: ${SOURCES[configuration.source](configurationPath)}`,
    ...table(
      [...configuration.channels.values()].map(({ name, origin, speaks }) => [
        name,
        origin,
        speaks.join(', '),
      ]),
    ),
    '',
    'Models',
    ...table(
      MODEL_KINDS.map((kind) => [kind, namesOf(configuration, kind)]).filter(([, names]) => names !== ''),
    ),
    '',
    `Base URL     ${edgeUrl}/v1   (clients of the Messages protocol: ${edgeUrl})`,
    `Key          ${sources === null ? key : placeOf(sources.key)}`,
    ...(adminUrl
      ? [
          `Admin token  ${sources === null ? adminToken : placeOf(sources.adminToken)}   (admin service: ${adminUrl})`,
          `Console      ${adminUrl}/console/   (sign in with the admin token)`,
          `Docs         ${adminUrl}/docs/`,
        ]
      : []),
    '',
    'Try it:',
    ...commands.flatMap(({ title, command }) => [
      '',
      `# ${title}`,
      command ?? '# no model is configured for it',
    ]),
    '',
    ...(configuration.source === 'simulator' ? providerHint(configurationPath) : []),
    `Data is stored in ${dataDir}. Press Ctrl-C to stop.`,
    '',
  ].join('\n');
}

/** Output that is no terminal is kept by a service manager or a log, where others read it. */
const placeOf = (source: SecretSource): string =>
  'file' in source ? `in ${source.file}` : `the value of ${source.variable}`;

/** The header with the key as a word of a shell, which reads the key itself where it is not shown. */
function authorizationOf(source: SecretSource | null, key: string): string {
  if (source === null) return quoted(`Authorization: Bearer ${key}`);
  return `"Authorization: Bearer ${'file' in source ? `$(cat ${quoted(source.file)})` : `$${source.variable}`}"`;
}

function processLines({ stack, redisAddress }: StartMessageOptions): string[] {
  const rows = stack.processes
    .filter(({ name }) => name !== 'redis')
    .map(({ name, url, pid, parts }) => [name, url ?? '', `process ${pid}`, parts.join(', ')]);
  const redis = stack.processes.find(({ name }) => name === 'redis');
  return table([...rows, ['redis', redisAddress, redis ? `process ${redis.pid}` : 'REDIS_URL']]);
}

const providerHint = (configurationPath: string): string[] => [
  'To use real providers, run npm run gateway -- init, or set OPENAI_API_KEY or ANTHROPIC_API_KEY in the environment or in',
  `a file .env, and start again; gateway.example.yaml shows every setting of ${configurationPath}.`,
  '',
];

const namesOf = ({ models }: Configuration, kind: string): string =>
  models.flatMap((model) => (model.kind === kind ? [model.pattern] : [])).join(', ');

/** Rows with their columns aligned. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  return rows.map((row) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd(),
  );
}
