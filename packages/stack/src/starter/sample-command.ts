import { type Catalog, createCatalog, NO_LOADS } from '@gateway/upstream/catalog';
import type { Configuration } from '@gateway/upstream/configuration/configuration';
import { CONVERSATION_PROTOCOLS } from '@gateway/upstream/protocol';

interface SampleOptions {
  readonly edgeUrl: string;
  /** The header with the key, as one word of a POSIX shell. */
  readonly authorization: string;
}

/** Names to try if the configuration has only patterns. */
const USUAL_MODELS = ['gpt-5.6-sol', 'claude-sonnet-5-5'];

/**
 * A `curl` that works with this configuration, on several lines, to be pasted into a shell: it asks a text model, or, where there is none
 * that is known here, for the list of models.
 */
export function sampleCommand(
  configuration: Configuration | null,
  { edgeUrl, authorization }: SampleOptions,
): string {
  const model = configuration === null ? undefined : textModel(configuration);
  const parts =
    model === undefined
      ? [`curl ${edgeUrl}/v1/models`, `-H ${authorization}`]
      : [
          `curl ${edgeUrl}/v1/responses -H 'content-type: application/json'`,
          `-H ${authorization}`,
          `-d ${quoted(JSON.stringify({ model, input: 'Say hello in one sentence.' }))}`,
        ];
  return parts.join(' \\\n  ');
}

/** The first name that some channel can serve; a team's own come before the usual ones. */
function textModel(configuration: Configuration): string | undefined {
  const catalog = createCatalog(configuration, { random: Math.random, loads: NO_LOADS });
  const ownNames = configuration.source === 'file' ? exactNames(catalog) : [];
  return [...ownNames, ...USUAL_MODELS].find((name) => {
    const model = catalog.resolveModel(name);
    // A text model answers over every text protocol, its own or not.
    const wanted = { protocol: 'responses', orElse: CONVERSATION_PROTOCOLS } as const;
    return model?.kind === 'text' && catalog.candidates({ model, ...wanted }).length > 0;
  });
}

const exactNames = (catalog: Catalog): string[] =>
  catalog.listModels().flatMap(({ isPattern, pattern }) => (isPattern ? [] : [pattern]));

/** As one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
