import type { Configuration } from '@gateway/upstream/configuration/configuration';
import type { SecretSource } from '../secrets.ts';
import type { Stack } from '../start-stack.ts';
import { quoted, sampleCommand } from './sample-command.ts';

interface StartMessageOptions {
  readonly stack: Stack;
  /** `host:port` of Redis, without its password. */
  readonly redisAddress: string;
  /** The file that a person would edit; null: the configuration is in the database, and the stack's own is not in use. */
  readonly configurationPath: string | null;
  readonly dataDir: string;
  /** Null on a terminal, where a person reads the key and the token; else what says where they are. */
  readonly sources: { readonly key: SecretSource; readonly adminToken: SecretSource } | null;
}

/** The page of the documentation with a command for each endpoint. */
const COMMANDS_PAGE = 'try-each-endpoint';

/**
 * The message that `npm start` prints once the gateway runs: what a newcomer needs, in twenty lines of a small terminal's width. The console
 * and the documentation have the rest.
 */
export function startMessage(options: StartMessageOptions): string {
  const { stack, configurationPath, dataDir, redisAddress, sources } = options;
  const { edgeUrl, key, adminUrl, adminToken } = stack;
  const authorization = authorizationOf(sources?.key ?? null, key);
  const token = sources === null ? adminToken : `the admin token, ${placeOf(sources.adminToken)}`;
  const commandsPage = adminUrl ? `${adminUrl}/docs/${COMMANDS_PAGE}.html` : `docs/${COMMANDS_PAGE}.md`;
  return [
    '',
    'The gateway is running. Press Ctrl-C to stop.',
    '',
    `Base URL  ${edgeUrl}/v1  (clients of Anthropic and Google: no /v1)`,
    `Key       ${sources === null ? key : placeOf(sources.key)}`,
    ...(adminUrl
      ? [`Console   ${adminUrl}/console/`, `          sign in with ${token}`, `Docs      ${adminUrl}/docs/`]
      : []),
    `Data      ${dataDir}  (Redis: ${redisAddress})`,
    ...answersLines(options),
    '',
    'Try it in a second terminal:',
    '',
    sampleCommand(configurationPath === null ? null : stack.configuration, { edgeUrl, authorization }),
    '',
    `Every other endpoint: ${commandsPage}`,
    '',
  ].join('\n');
}

/** What answers, and how to have one's own providers do it. */
function answersLines({ stack, configurationPath }: StartMessageOptions): string[] {
  if (configurationPath === null)
    return ['Answers   as the database says, on the Configuration page of the console'];
  const { channels, models, source } = stack.configuration;
  const count = `${counted(models.length, 'model')}, ${counted(channels.size, 'channel')}`;
  const lines: Record<Configuration['source'], readonly string[]> = {
    file: [`${count}, from ${configurationPath}`],
    environment: [
      `${count}, by the provider keys in the environment`,
      'more providers: npm run gateway -- init, then npm start',
    ],
    simulator: [
      'a built-in simulator, because no provider is configured',
      'your own providers: npm run gateway -- init, then npm start',
    ],
  };
  return lines[source].map((line, at) => `${at === 0 ? 'Answers' : '       '}   ${line}`);
}

const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`;

/** Output that is no terminal is kept by a service manager or a log, where others read it. */
const placeOf = (source: SecretSource): string =>
  'file' in source ? `in ${source.file}` : `the value of ${source.variable}`;

/** The header with the key as a word of a shell, which reads the key itself where it is not shown. */
function authorizationOf(source: SecretSource | null, key: string): string {
  if (source === null) return quoted(`Authorization: Bearer ${key}`);
  return `"Authorization: Bearer ${'file' in source ? `$(cat ${quoted(source.file)})` : `$${source.variable}`}"`;
}
