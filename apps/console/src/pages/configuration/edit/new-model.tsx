import { Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { FormEnd } from '../../../parts/form-end.tsx';
import { SideDrawer } from '../../../parts/side-drawer.tsx';
import { MODEL_KIND_CHOICES } from '../../models/model-kinds.ts';
import { entryOf, type FieldValues, modelFields, ROUTE_FIELDS, type RouteValues } from './edit-fields.ts';
import { FieldInputs } from './field-inputs.tsx';
import { RouteInputs } from './route-inputs.tsx';
import type { OpenDraft } from './use-draft.ts';

/** The form that puts another model into the draft. */
export function NewModel({ draft, onClose }: { draft: OpenDraft; onClose: () => void }) {
  const { channels = {}, models = {} } = draft.result?.entries ?? {};
  const names = Object.keys(channels);
  const [name, setName] = useState('');
  const [kind, setKind] = useState('text');
  const [values, setValues] = useState<FieldValues>({});
  const [routes, setRoutes] = useState<readonly RouteValues[]>([
    { index: null, channel: names[0] ?? '', values: {} },
  ]);
  const [error, setError] = useState<Error | null>(null);
  const fields = modelFields(kind);
  const isTaken = name.trim() in models;
  const add = async () => {
    const value = {
      kind,
      routes: routes.map((route) => ({ channel: route.channel, ...entryOf(ROUTE_FIELDS, route.values) })),
      ...entryOf(fields, values),
    };
    try {
      await draft.edit([{ op: 'set', path: ['models', name.trim()], value }]);
      onClose();
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    }
  };
  return (
    <SideDrawer onClose={onClose} title={<Text fw={600}>New model</Text>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isTaken) void add();
        }}
      >
        <Stack>
          <TextInput
            label="Name"
            description="What callers use; * stands for any text."
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={isTaken && 'There is a model of this name.'}
            required
            autoComplete="off"
            data-autofocus
          />
          <Select
            label="Kind"
            data={MODEL_KIND_CHOICES}
            value={kind}
            onChange={(chosen) => setKind(chosen ?? 'text')}
            allowDeselect={false}
          />
          <RouteInputs entry={{}} channels={names} routes={routes} onChange={setRoutes} />
          <SimpleGrid cols={{ base: 1, xs: 2 }} verticalSpacing="sm">
            <FieldInputs entry={{}} fields={fields} values={values} onChange={setValues} />
          </SimpleGrid>
          <FormEnd action="Add to the draft" isPending={draft.isEditing} error={error} onCancel={onClose} />
        </Stack>
      </form>
    </SideDrawer>
  );
}
