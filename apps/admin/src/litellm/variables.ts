import type { ChannelEntry } from '@gateway/upstream/configuration/file-schema';

const FROM_ENVIRONMENT = /^os\.environ\/([A-Za-z_][A-Za-z0-9_]*)$/;

/** A text of LiteLLM's file as one of ours: `os.environ/NAME` is `${NAME}`, and a plain `${` stays one. */
export function carried(text: string): string {
  const [, name] = FROM_ENVIRONMENT.exec(text) ?? [];
  return name === undefined ? text.replaceAll('${', () => '$${') : variable(name);
}

export const variable = (name: string): string => `\${${name}}`;

/** The variables that channels need, in the order of their first use. */
export const variablesOf = (channels: Readonly<Record<string, ChannelEntry>>): string[] => [
  ...new Set(
    [...JSON.stringify(channels).matchAll(/(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].flatMap(
      ([, name]) => name ?? [],
    ),
  ),
];
