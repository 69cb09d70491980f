// What stands on the page in its language. What a verdict, a finding or a note at a line says is English
// everywhere, as at the terminal.
const CHINESE = {
  "loading": "加载中",
  "loading the compiler, once": "正在加载编译器, 只需一次",
  "starting the compiler": "正在启动编译器",
  "compiling": "正在编译",
  "running": "正在运行",
  "stopped": "已停止",
  "progress": "进度",
  "Stop": "停止",
  "Run": "运行",
  "variant": "变体",
  "The kernel as it was": "恢复原来的核函数",
  "{} is a whole number from 1 to {}.": "{} 是从 1 到 {} 的整数。",
  "Step through it": "单步执行",
  "your kernel": "你的核函数",
  "Grade": "评分",
  "The starter again": "恢复起始代码",
  "Export my progress": "导出我的进度",
  "done": "已完成",
  "The reference": "参考解答",
  "In which line? ": "在哪一行? ",
  "In which {} lines? ": "在哪 {} 行? ",
  "Answer": "回答",
  "Show the report": "显示报告",
  "No.": "不对。",
  "No, but {} is part of it.": "不对, 但 {} 是其中一部分。",
  "1 more finding, for when this is mended": "改好之后, 还有 1 个问题",
  "{} more findings, for when this is mended": "改好之后, 还有 {} 个问题",
  "Kernels cannot run here: {}": "核函数不能在这里运行: {}",
  "this browser lacks JSPI, which Chromium has": "这个浏览器没有 JSPI, Chromium 有",
};

// `english` in the language of the page, with each {} replaced by one of `values`.
export function words(english, ...values) {
  const text = document.documentElement.lang.startsWith("zh") ? CHINESE[english] : english;
  return text.replace(/\{\}/g, () => values.shift());
}
