import { Autocomplete, Button, FileButton, Group, NumberInput, Stack, Switch } from '@mantine/core';
import { IconPhoto, IconPhotoEdit } from '@tabler/icons-react';
import { useState } from 'react';
import { EmptyState } from '../../../parts/empty-state.tsx';
import { useDesk, useDraft } from '../desk.ts';
import { useLive } from '../exchange/live.ts';
import { ModelField, useModelNames } from '../model-fields.tsx';
import type { PanelProps } from '../playground-search.ts';
import { PromptBox } from '../prompt-box.tsx';
import { RunList } from '../run-list.tsx';
import { ImagesView } from './images-view.tsx';
import { imagesCall, NO_IMAGES, readImages } from './make-images.ts';
import { createMask, type Mask } from './mask.ts';
import { MaskEditor } from './mask-editor.tsx';

/** Suggestions: each model has its own, and others can be typed. */
const SIZES = ['auto', '256x256', '512x512', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792'];
const QUALITIES = ['auto', 'low', 'medium', 'high', 'standard', 'hd'];
const MAX_COUNT = 10;
/** Of each image. */
const MAX_PARTIAL_IMAGES = 3;
const DEFAULT_PARTIAL_IMAGES = 2;
const PICTURE_TYPES = 'image/png,image/jpeg,image/webp';

/** A picture that the person has chosen to change. */
interface Chosen {
  readonly file: File;
  readonly url: string;
  readonly mask: Mask;
}

/** Images from a prompt, or from a picture and a prompt. */
export function ImagesPanel({ keyId, search, change }: PanelProps) {
  const { images } = useDesk();
  const runs = useLive(images.live);
  const [first = ''] = useModelNames('image');
  const model = search.models?.[0] ?? first;
  const prompt = useDraft('image-prompt');
  const [chosen, setChosen] = useState<Chosen>();
  const [mistake, setMistake] = useState<string>();
  const { size, count, quality, partials = DEFAULT_PARTIAL_IMAGES } = search;
  const isStreamed = search.stream === true;
  // A stream has its caller wait for it.
  const isJob = search.job === true && !isStreamed;

  const choose = async (file: File | null): Promise<void> => {
    if (chosen !== undefined) URL.revokeObjectURL(chosen.url);
    setChosen(undefined);
    setMistake(undefined);
    if (file === null) return;
    try {
      const { width, height } = await createImageBitmap(file);
      setChosen({ file, url: URL.createObjectURL(file), mask: createMask(width, height) });
    } catch {
      setMistake(`The browser cannot read ${file.name} as an image. Choose a PNG, JPEG or WebP.`);
    }
  };
  const send = async (): Promise<void> => {
    if (keyId === undefined) return;
    const edit = chosen === undefined ? null : { picture: chosen.file, mask: await chosen.mask.toFile() };
    const partialImages = isStreamed ? partials : null;
    const settings = { model, prompt: prompt.text, size, count, quality, isJob, partialImages };
    const call = imagesCall(settings, edit);
    images.start({ call, keyId, first: NO_IMAGES, read: readImages });
  };

  return (
    <Stack gap="md">
      <Group gap="sm" align="flex-end">
        <ModelField kind="image" model={model} onChange={(name) => change({ models: [name] })} />
        <Autocomplete
          flex="1 1 120px"
          label="Size"
          placeholder="Model default"
          data={SIZES}
          filter={({ options }) => options}
          value={size ?? ''}
          onChange={(value) => change({ size: value || undefined })}
        />
        <Autocomplete
          flex="1 1 120px"
          label="Quality"
          placeholder="Model default"
          data={QUALITIES}
          filter={({ options }) => options}
          value={quality ?? ''}
          onChange={(value) => change({ quality: value || undefined })}
        />
        <NumberInput
          flex="0 1 90px"
          label="Count"
          min={1}
          max={MAX_COUNT}
          allowDecimal={false}
          value={count ?? ''}
          onChange={(value) => change({ count: typeof value === 'number' ? value : undefined })}
        />
        {isStreamed && (
          <NumberInput
            flex="0 1 130px"
            label="Partial images"
            min={0}
            max={MAX_PARTIAL_IMAGES}
            allowDecimal={false}
            value={partials}
            onChange={(value) => change({ partials: typeof value === 'number' ? value : undefined })}
          />
        )}
        <Switch
          mb={8}
          label="Stream"
          checked={isStreamed}
          onChange={(event) => change({ stream: event.currentTarget.checked || undefined, job: undefined })}
        />
        <Switch
          mb={8}
          label="As a job"
          checked={isJob}
          onChange={(event) => change({ job: event.currentTarget.checked || undefined, stream: undefined })}
        />
      </Group>
      <Group gap="xs">
        <FileButton accept={PICTURE_TYPES} onChange={(file) => void choose(file)}>
          {(button) => (
            <Button
              {...button}
              size="xs"
              variant="default"
              leftSection={<IconPhotoEdit size={16} aria-hidden />}
            >
              {chosen === undefined ? 'Edit an image' : 'Choose another image'}
            </Button>
          )}
        </FileButton>
        {chosen && (
          <Button size="xs" variant="subtle" color="gray" onClick={() => void choose(null)}>
            Create a new one instead
          </Button>
        )}
      </Group>
      {chosen && <MaskEditor key={chosen.url} url={chosen.url} mask={chosen.mask} />}
      <PromptBox
        label={chosen === undefined ? 'Prompt' : 'What to change'}
        draft={prompt}
        keyId={keyId}
        model={model}
        mistake={mistake}
        action={chosen === undefined ? 'Create images' : 'Edit image'}
        onSend={() => void send()}
        onStop={images.stopAll}
      />
      <RunList
        runs={runs}
        waiting="Creating images …"
        whenEmpty={
          <EmptyState icon={IconPhoto} title="No images yet">
            Describe what they should show. A job continues when this page is closed; its images are on the
            Jobs page.
          </EmptyState>
        }
      >
        {(answer) => <ImagesView of={answer} />}
      </RunList>
    </Stack>
  );
}
