import { Alert, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useRef, useState } from 'react';
import { useMay } from '../../../api/permissions.ts';
import type { Draft, Mistake } from '../../../api/types.ts';
import { PageFailed } from '../../../parts/page/page-failed.tsx';
import { MistakeList } from '../mistake-list.tsx';
import { YamlEditor, type YamlEditorHandle } from '../yaml-editor.tsx';
import { DraftChanges } from './draft-changes.tsx';
import { DraftCosts } from './draft-costs.tsx';
import { EntryList } from './entry-list.tsx';
import { SaveDraft } from './save-draft.tsx';
import { TakeText } from './take-text.tsx';
import { TryDraft } from './try-draft.tsx';
import type { OpenDraft } from './use-draft.ts';

type View = 'forms' | 'text' | 'changes';

interface EditConfigurationProps {
  readonly draft: OpenDraft;
  readonly path: string;
  /** Opens the way to another provider, which goes on with this draft. */
  readonly onAddProvider: () => void;
}

/** A draft of the configuration: edited by forms or as text, checked, and compared with the one in use. */
export function EditConfiguration({ draft, path, onAddProvider }: EditConfigurationProps) {
  const [view, setView] = useState<View>('forms');
  const editor = useRef<YamlEditorHandle>(null);
  const may = useMay();
  const mayCompare = may('POST /admin/v1/configuration/draft/costs');
  const mayTry = may('POST /admin/v1/configuration/draft/try');
  const { result, error } = draft;
  if (error && result === undefined) return <PageFailed error={error} reset={draft.retry} />;
  if (result === undefined) return null;
  const count = result.changes.length;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <SegmentedControl
          aria-label="View of the draft"
          size="xs"
          data={[
            { value: 'forms', label: 'Forms' },
            { value: 'text', label: 'Text' },
            { value: 'changes', label: count === 0 ? 'Changes' : `Changes (${count})` },
          ]}
          value={view}
          onChange={(chosen) => setView(VIEWS.find((one) => one === chosen) ?? 'forms')}
        />
        {result.diff !== '' &&
          (result.base === null ? (
            <Deploying of={result} path={path} onDiscard={draft.discard} />
          ) : (
            <Applying
              of={result}
              base={draft.base ?? result.base}
              isChecked={draft.isChecked}
              onDiscard={draft.discard}
            />
          ))}
      </Group>
      <div aria-live="polite">
        {error && <PageFailed error={error} reset={draft.retry} />}
        {result.mistakes.length > 0 && (
          <Mistakes
            of={result.mistakes}
            onGoTo={(line, column) => {
              setView('text');
              // The editor is there once the view has changed.
              requestAnimationFrame(() => editor.current?.goTo(line, column));
            }}
          />
        )}
      </div>
      {view === 'forms' && <EntryList draft={draft} onAddProvider={onAddProvider} />}
      {view === 'text' && (
        <YamlEditor
          label="Draft of the configuration"
          text={draft.text ?? result.text}
          onChange={draft.write}
          mistakes={result.mistakes}
          ref={editor}
        />
      )}
      {view === 'changes' && (
        <Stack>
          {result.isValid && count > 0 && mayCompare && <DraftCosts of={result.text} />}
          <DraftChanges of={result} />
          {result.isValid && result.diff !== '' && mayTry && (
            <TryDraft of={result} isChecked={draft.isChecked} />
          )}
        </Stack>
      )}
    </Stack>
  );
}

const VIEWS: readonly View[] = ['forms', 'text', 'changes'];

const Mistakes = ({
  of,
  onGoTo,
}: {
  of: readonly Mistake[];
  onGoTo: (line: number, column: number) => void;
}) => (
  <Alert
    color="red"
    variant="light"
    icon={<IconAlertTriangle aria-hidden />}
    title={of.length === 1 ? '1 mistake' : `${of.length} mistakes`}
  >
    <MistakeList of={of} onGoTo={onGoTo} />
  </Alert>
);

interface ApplyingProps {
  readonly of: Draft;
  /** The revision that the draft began with. */
  readonly base: number;
  /** Whether it is the draft as it is written now. */
  readonly isChecked: boolean;
  readonly onDiscard: () => void;
}

/** The database has the configuration: the draft becomes its next revision. */
function Applying({ of, base, isChecked, onDiscard }: ApplyingProps) {
  const [isSaving, setSaving] = useState(false);
  const mayApply = useMay()('POST /admin/v1/configuration/revisions');
  return (
    <Group gap="xs">
      <Button size="xs" variant="subtle" color="gray" onClick={onDiscard}>
        Discard
      </Button>
      {mayApply && (
        <Button size="xs" disabled={!of.isValid || !isChecked} onClick={() => setSaving(true)}>
          Apply…
        </Button>
      )}
      {isSaving && <SaveDraft of={of} base={base} onSaved={onDiscard} onClose={() => setSaving(false)} />}
    </Group>
  );
}

interface DeployingProps {
  readonly of: Draft;
  readonly path: string;
  readonly onDiscard: () => void;
}

/** The file is the truth: the draft is text to take there. */
function Deploying({ of: { diff, isValid }, path, onDiscard }: DeployingProps) {
  return (
    <Group gap="xs">
      <Button size="xs" variant="subtle" color="gray" onClick={onDiscard}>
        Discard
      </Button>
      {isValid && diff !== null && <TakeText of={diff} what="the diff" fileName="gateway.diff" />}
      <Text size="xs" c="dimmed" w="100%" ta="end">
        Apply it to <code>{path}</code>, as with <code>git apply</code>. The services reload the file.
      </Text>
    </Group>
  );
}
