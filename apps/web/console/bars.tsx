import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

interface Counted {
  readonly counts: readonly number[];
  /** What their sum is. */
  readonly caption: string;
  /** What to say where there is nothing to draw. */
  readonly nothing: string;
}

const WIDTH = 720;
const HEIGHT = 180;
/** Orders are counted whole. */
const WHOLE_STEPS = [1, 2, 5]
  .flatMap((step) => [0, 1, 2, 3, 4, 5, 6].map((n) => step * 10 ** n))
  .sort((a, b) => a - b);

/** One bar for each minute. The eye sees the picture, everybody has the sum. */
export function Bars({ counts, caption, nothing }: Counted) {
  const total = counts.reduce((sum, one) => sum + one, 0);
  if (total === 0) return <p class="nothing">{nothing}</p>;
  return (
    <figure>
      <figcaption>
        {total} {caption}
      </figcaption>
      <Plot counts={counts} />
    </figure>
  );
}

function Plot({ counts }: { counts: readonly number[] }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data: uPlot.AlignedData = [counts.map((_, minute) => minute + 0.5), [...counts]];
  useEffect(() => {
    const root = box.current as HTMLDivElement;
    const paths = uPlot.paths.bars?.({ size: [0.8] });
    // As the page's style has them in this moment: light or dark. What a canvas is given has to be
    // a colour by then, which a property that is computed is, and a variable is not.
    const colour = (name: 'fill' | 'stroke') => (): string => getComputedStyle(root)[name];
    const axis = {
      ...{ stroke: colour('stroke'), grid: { show: false }, ticks: { stroke: colour('stroke') } },
      incrs: WHOLE_STEPS,
    };
    const size = () => ({ width: Math.min(WIDTH, root.clientWidth || WIDTH), height: HEIGHT });
    plot.current = new uPlot(
      {
        ...size(),
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: false, range: [0, counts.length] }, y: { range: [0, null] } },
        axes: [axis, axis],
        series: [
          {},
          { fill: colour('fill'), points: { show: false }, ...(paths ? { paths } : {}) },
        ],
      },
      data,
      root,
    );
    const resized = new ResizeObserver(() => plot.current?.setSize(size()));
    resized.observe(root);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => plot.current?.redraw(false, true);
    scheme.addEventListener('change', redraw);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', redraw);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [counts]);
  return <div ref={box} class="plot" aria-hidden="true" />;
}
