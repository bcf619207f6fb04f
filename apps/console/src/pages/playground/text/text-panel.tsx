import { Button, Collapse, Group, Select, Stack } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { IconAdjustments, IconMessages } from '@tabler/icons-react';
import * as z from 'zod/mini';
import { EmptyState } from '../../../parts/empty-state.tsx';
import { useDesk } from '../desk.ts';
import { useLive } from '../exchange/live.ts';
import { ModelsField, useModelNames } from '../model-fields.tsx';
import type { PanelProps, PlaygroundSearch } from '../playground-search.ts';
import { stopUnlessDialog } from '../prompt-box.tsx';
import { ComparisonActions } from './comparison-actions.tsx';
import {
  conversationKey,
  isRunning,
  openCalls,
  PROTOCOL_NAMES,
  PROTOCOLS,
  type Turn,
} from './conversation.ts';
import { MessageBox } from './message-box.tsx';
import { jsonOf, type TextSettings } from './protocol.ts';
import { TextColumn } from './text-column.tsx';
import classes from './text-panel.module.css';
import { TextSettingsFields, useWrittenSettings } from './text-settings.tsx';

const NO_TURNS: readonly Turn[] = [];

/** The same conversation with up to three models, each with its own answers. */
export function TextPanel({ keyId, search, change }: PanelProps) {
  const { conversations } = useDesk();
  const all = useLive(conversations.live);
  const [first] = useModelNames('text');
  const models = search.models ?? (first === undefined ? [] : [first]);
  const protocol = search.protocol ?? 'responses';
  const written = useWrittenSettings();
  const read = readSettings(search, {
    system: written.system.text,
    tools: written.tools.text,
    schema: written.schema.text,
  });
  const [areSettingsOpen, settingsShown] = useDisclosure(false);
  useHotkeys([['Escape', () => stopUnlessDialog(conversations.stopAll), { preventDefault: false }]], []);

  const columns = models.map((model) => {
    const turns = all.get(conversationKey({ protocol, model })) ?? NO_TURNS;
    return { model, turns, waitsForResults: !turns.some(isRunning) && openCalls(turns).length > 0 };
  });
  const ready = columns.filter(({ waitsForResults }) => !waitsForResults);
  const hindrance =
    keyId === undefined
      ? 'Choose a key first.'
      : models.length === 0
        ? 'Choose a model first.'
        : 'mistake' in read
          ? read.mistake
          : ready.length === 0
            ? 'The model is waiting for the results of its tool calls.'
            : undefined;
  const send = (model: string, sent: Turn['sent']): void => {
    if (keyId === undefined || 'mistake' in read) return;
    conversations.send({ protocol, model, keyId, settings: read.settings, sent });
  };

  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-end">
        <Select
          flex="1 1 170px"
          label="Protocol"
          allowDeselect={false}
          data={PROTOCOL_NAMES.map((name) => ({ value: name, label: PROTOCOLS[name].label }))}
          value={protocol}
          onChange={(chosen) => change({ protocol: PROTOCOL_NAMES.find((name) => name === chosen) })}
        />
        <ModelsField models={models} onChange={(chosen) => change({ models: chosen })} />
        <Button
          variant="default"
          leftSection={<IconAdjustments size={16} aria-hidden />}
          onClick={settingsShown.toggle}
          aria-expanded={areSettingsOpen}
        >
          Settings
        </Button>
        <ComparisonActions
          columns={columns}
          protocol={protocol}
          settings={'settings' in read ? read.settings : undefined}
          search={search}
        />
      </Group>
      <Collapse expanded={areSettingsOpen} keepMounted={false}>
        <TextSettingsFields
          protocol={PROTOCOLS[protocol]}
          written={written}
          search={search}
          change={change}
        />
      </Collapse>
      {columns.every(({ turns }) => turns.length === 0) ? (
        <EmptyState icon={IconMessages} title="No messages yet">
          Write a message below. It goes to every model on the page as a real request, and counts against the
          key's limits and budget.
        </EmptyState>
      ) : (
        <div className={classes.columns}>
          {columns.map(({ model, turns }, at) => (
            <TextColumn
              key={model}
              isFollowed={at === 0}
              model={model}
              turns={turns}
              onResults={(results) => send(model, { results })}
            />
          ))}
        </div>
      )}
      <MessageBox
        hindrance={hindrance}
        isRunning={columns.some(({ turns }) => turns.some(isRunning))}
        hasTurns={all.size > 0}
        onSend={(message) => {
          for (const { model } of ready) send(model, { message });
        }}
        onStop={conversations.stopAll}
        onClear={conversations.clear}
      />
    </Stack>
  );
}

const Member = z.record(z.string(), z.unknown());
const Tools = z.array(Member);

interface Written {
  readonly system: string;
  readonly tools: string;
  readonly schema: string;
}

/** What the person has set, or a sentence on what is wrong with it. */
function readSettings(
  { maxOutputTokens, temperature, effort }: PlaygroundSearch,
  { system, tools, schema }: Written,
): { settings: TextSettings } | { mistake: string } {
  const readTools = Tools.safeParse(tools.trim() === '' ? [] : jsonOf(tools));
  if (!readTools.success) return { mistake: 'Tools must be a JSON array of objects.' };
  const readSchema = z.optional(Member).safeParse(schema.trim() === '' ? undefined : jsonOf(schema));
  if (!readSchema.success) return { mistake: 'The answer schema must be a JSON object.' };
  return {
    settings: {
      system: system.trim(),
      maxOutputTokens,
      temperature,
      effort,
      tools: readTools.data,
      schema: readSchema.data,
    },
  };
}
