import { Group, JsonInput, NumberInput, Select, SimpleGrid, Stack, Textarea } from '@mantine/core';
import { type Draft, useDraft } from '../desk.ts';
import type { PlaygroundSearch } from '../playground-search.ts';
import type { TextProtocol } from './protocol.ts';

interface WrittenSettings {
  readonly system: Draft;
  readonly tools: Draft;
  readonly schema: Draft;
}

/** What is written and not chosen, so that it is in no address. */
export const useWrittenSettings = (): WrittenSettings => ({
  system: useDraft('system'),
  tools: useDraft('tools'),
  schema: useDraft('schema'),
});

interface TextSettingsProps {
  readonly protocol: TextProtocol;
  readonly written: WrittenSettings;
  readonly search: PlaygroundSearch;
  readonly change: (changed: PlaygroundSearch) => void;
}

const TOOLS_EXAMPLE = `[{ "name": "get_weather", "description": "The weather of a city",
   "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } }]`;
const SCHEMA_EXAMPLE = `{ "type": "object", "properties": { "title": { "type": "string" } },
  "required": ["title"], "additionalProperties": false }`;

/** What goes with every message. */
export function TextSettingsFields({ protocol, written, search, change }: TextSettingsProps) {
  const { system, tools, schema } = written;
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-start">
        <NumberInput
          flex="1 1 140px"
          label="Max. output tokens"
          min={1}
          allowDecimal={false}
          value={search.maxOutputTokens ?? ''}
          onChange={(value) => change({ maxOutputTokens: numberOf(value) })}
        />
        <NumberInput
          flex="1 1 140px"
          label="Temperature"
          min={0}
          max={2}
          step={0.1}
          value={search.temperature ?? ''}
          onChange={(value) => change({ temperature: numberOf(value) })}
        />
        <Select
          flex="1 1 140px"
          label="Reasoning effort"
          placeholder="Model default"
          clearable
          data={[...protocol.efforts]}
          value={search.effort ?? null}
          onChange={(effort) => change({ effort: effort ?? undefined })}
        />
      </Group>
      <Textarea
        label="Instructions"
        description="System or developer text that precedes the conversation"
        autosize
        minRows={2}
        maxRows={8}
        value={system.text}
        onChange={(event) => system.change(event.currentTarget.value)}
      />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <JsonInput
          label="Tools"
          description="A list of functions. Entries with a type are sent unchanged."
          placeholder={TOOLS_EXAMPLE}
          validationError="This is not valid JSON."
          autosize
          minRows={4}
          maxRows={14}
          value={tools.text}
          onChange={tools.change}
        />
        <JsonInput
          label="Answer schema"
          description="JSON Schema, for structured output"
          placeholder={SCHEMA_EXAMPLE}
          validationError="This is not valid JSON."
          autosize
          minRows={4}
          maxRows={14}
          value={schema.text}
          onChange={schema.change}
        />
      </SimpleGrid>
    </Stack>
  );
}

const numberOf = (value: string | number): number | undefined =>
  typeof value === 'number' ? value : undefined;
