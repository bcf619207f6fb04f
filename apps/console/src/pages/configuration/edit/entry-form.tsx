import { Button, Divider, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import type { ConfigurationEdit } from '../../../api/types.ts';
import { FormEnd } from '../../../parts/form-end.tsx';
import { SideDrawer } from '../../../parts/side-drawer.tsx';
import {
  CHANNEL_FIELDS,
  type FieldValues,
  fieldEdits,
  membersOf,
  modelFields,
  type RouteValues,
  routeEdits,
  routesOf,
} from './edit-fields.ts';
import { FieldInputs } from './field-inputs.tsx';
import { RouteInputs } from './route-inputs.tsx';
import type { OpenDraft } from './use-draft.ts';

export interface EditedEntry {
  readonly section: 'models' | 'channels';
  readonly name: string;
}

interface EntryFormProps {
  readonly draft: OpenDraft;
  readonly of: EditedEntry;
  readonly onClose: () => void;
}

/** The form of one model or channel of the draft. */
export function EntryForm({ draft, of: { section, name }, onClose }: EntryFormProps) {
  const entries = draft.result?.entries;
  const entry = membersOf(entries?.[section][name]);
  const isModel = section === 'models';
  const fields = isModel ? modelFields(String(entry.kind)) : CHANNEL_FIELDS;
  const [values, setValues] = useState<FieldValues>({});
  const [routes, setRoutes] = useState<readonly RouteValues[]>(
    routesOf(entry).map(({ channel }, index) => ({ index, channel: String(channel), values: {} })),
  );
  const [error, setError] = useState<Error | null>(null);
  const apply = async (edits: ConfigurationEdit[]) => {
    try {
      if (edits.length > 0) await draft.edit(edits);
      onClose();
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    }
  };
  return (
    <SideDrawer onClose={onClose} title={<Text fw={600}>{name}</Text>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void apply([
            ...fieldEdits([section, name], entry, fields, values),
            ...(isModel ? routeEdits(name, entry, routes) : []),
          ]);
        }}
      >
        <Stack>
          {isModel && (
            <RouteInputs
              entry={entry}
              channels={Object.keys(entries?.channels ?? {})}
              routes={routes}
              onChange={setRoutes}
            />
          )}
          <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
            <FieldInputs entry={entry} fields={fields} values={values} onChange={setValues} />
          </SimpleGrid>
          <FormEnd action="Change the draft" isPending={draft.isEditing} error={error} onCancel={onClose} />
          <Divider />
          <Group>
            <Button
              size="xs"
              variant="subtle"
              color="red"
              leftSection={<IconTrash size={14} aria-hidden />}
              onClick={() => void apply([{ op: 'remove', path: [section, name] }])}
            >
              Remove this {isModel ? 'model' : 'channel'} from the draft
            </Button>
          </Group>
        </Stack>
      </form>
    </SideDrawer>
  );
}
