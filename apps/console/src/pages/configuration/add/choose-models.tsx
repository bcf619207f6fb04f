import {
  Alert,
  Button,
  Checkbox,
  Group,
  MultiSelect,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import type { TriedProvider } from '../../../api/types.ts';
import { MODEL_KIND_CHOICES, MODEL_KINDS } from '../../models/model-kinds.ts';
import classes from './add.module.css';
import { type ChosenModel, chosenOf, kindIn, proposedOf } from './chosen-models.ts';

interface ChooseModelsProps {
  readonly tried: TriedProvider;
  /** The models that callers know already. */
  readonly there: readonly string[];
  readonly isPending: boolean;
  readonly error: Error | null;
  readonly onChosen: (models: readonly ChosenModel[]) => void;
  readonly onBack: () => void;
}

interface Row {
  readonly model: ChosenModel;
  readonly isChosen: boolean;
}

/** More are found by a part of their name. */
const MAX_OPTIONS = 100;

/** Which of the provider's models callers get, and by which names. */
export function ChooseModels({ tried, there, isPending, error, onChosen, onBack }: ChooseModelsProps) {
  const [rows, setRows] = useState<readonly Row[]>(() =>
    tried.proposal.map((proposal) => ({ model: proposedOf(proposal), isChosen: true })),
  );
  const chosen = rows.filter(({ isChosen }) => isChosen).map(({ model }) => model);
  const names = chosen.map(({ callers }) => callers.trim());
  const isTwice = new Set(names).size < names.length;
  const others = tried.models.filter(({ name }) => !rows.some(({ model }) => model.own === name));
  const addListed = (added: readonly string[]) =>
    setRows([
      ...rows,
      ...others
        .filter(({ name }) => added.includes(name))
        .map(({ name, kind }) => ({ model: chosenOf(name, kind), isChosen: true })),
    ]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (chosen.length > 0 && !isTwice)
          onChosen(chosen.map((model) => ({ ...model, callers: model.callers.trim() })));
      }}
    >
      <Stack gap="sm">
        {tried.outcome === 'accepted' && <Text size="sm">{tried.advice}</Text>}
        <Text size="sm">Choose what callers may use, and by which names.</Text>
        {rows.length > 0 && (
          <Stack gap={6} component="ul" className={classes.steps} aria-label="Models">
            {rows.map((row) => (
              <ModelRow
                key={row.model.own}
                of={row}
                isThere={there.includes(row.model.callers.trim())}
                onChange={(changed) => setRows(rows.map((one) => (one === row ? changed : one)))}
              />
            ))}
          </Stack>
        )}
        {others.length > 0 && (
          <MultiSelect
            label={rows.length === 0 ? 'Models' : 'Other models'}
            description="As the provider calls them."
            placeholder="Find a model"
            data={others.map(({ name }) => name)}
            value={[]}
            onChange={addListed}
            searchable
            limit={MAX_OPTIONS}
            nothingFoundMessage="No matching models"
            maw={560}
          />
        )}
        <TypedModels
          isAlone={tried.outcome === 'accepted' || (others.length === 0 && rows.length === 0)}
          onAdd={(added) => {
            const fresh = added.filter(({ own }) => !rows.some(({ model }) => model.own === own));
            setRows([...rows, ...fresh.map((model) => ({ model, isChosen: true }))]);
          }}
        />
        {tried.omitted > 0 && (
          <Text size="xs" c="dimmed">
            {tried.omitted} further models that were listed are of kinds that this channel does not serve.
          </Text>
        )}
        {isTwice && (
          <Alert color="red" variant="light" role="alert">
            Two models have the same name for callers. Change one of them.
          </Alert>
        )}
        {error && (
          <Alert color="red" variant="light" role="alert">
            {error.message}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack}>
            Back
          </Button>
          <Button type="submit" loading={isPending} disabled={chosen.length === 0}>
            {chosen.length === 1 ? 'Use 1 model' : `Use ${chosen.length} models`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface ModelRowProps {
  readonly of: Row;
  /** Whether callers know a model of this name: it gets another route. */
  readonly isThere: boolean;
  readonly onChange: (row: Row) => void;
}

function ModelRow({ of: row, isThere, onChange }: ModelRowProps) {
  const { model, isChosen } = row;
  const kind = MODEL_KINDS[model.kind];
  const about = isThere ? `${kind}. Callers know it already: it gets another route.` : kind;
  return (
    <Group component="li" gap="sm" align="flex-start">
      <Checkbox
        flex="1 1 220px"
        label={model.own}
        description={about}
        checked={isChosen}
        onChange={(event) => onChange({ ...row, isChosen: event.currentTarget.checked })}
        styles={{ label: { overflowWrap: 'anywhere' } }}
      />
      {isChosen && !model.own.includes('*') && (
        <TextInput
          flex="1 1 180px"
          size="xs"
          aria-label={`Name for callers of ${model.own}`}
          value={model.callers}
          onChange={(event) => onChange({ ...row, model: { ...model, callers: event.currentTarget.value } })}
          required
          autoComplete="off"
        />
      )}
      {isChosen && model.own.includes('*') && model.callers !== model.own && (
        <Text flex="1 1 180px" size="sm">
          Callers write {model.callers}
        </Text>
      )}
    </Group>
  );
}

interface TypedModelsProps {
  /** Whether there is nothing else to choose from. */
  readonly isAlone: boolean;
  readonly onAdd: (models: readonly ChosenModel[]) => void;
}

/** Models that the provider did not list. */
function TypedModels({ isAlone, onAdd }: TypedModelsProps) {
  const [isOpen, setOpen] = useState(isAlone);
  const [kind, setKind] = useState('text');
  if (!isOpen)
    return (
      <Button
        variant="subtle"
        size="compact-sm"
        style={{ alignSelf: 'flex-start' }}
        onClick={() => setOpen(true)}
      >
        Add a model that is not listed
      </Button>
    );
  return (
    <Group align="flex-end" gap="sm" maw={560}>
      <Select
        flex="0 1 150px"
        label="Kind"
        data={MODEL_KIND_CHOICES}
        value={kind}
        onChange={(chosen) => setKind(chosen ?? 'text')}
        allowDeselect={false}
      />
      <TagsInput
        flex="1 1 220px"
        label="Models that are not listed"
        placeholder="A name, then Enter"
        value={[]}
        onChange={(names) => onAdd(names.map((name) => chosenOf(name.trim(), kindIn(kind))))}
        acceptValueOnBlur
      />
    </Group>
  );
}
