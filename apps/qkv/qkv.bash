# bash completion for qkv. tests/apps/documents_test.cc checks that every option is here.

_qkv_files() {
  # Directories, and the files that qkv reads and writes.
  local file
  compopt -o filenames 2>/dev/null
  COMPREPLY=()
  while IFS= read -r file; do
    [[ -d $file || $file == *.@(npy|npz|safetensors) ]] && COMPREPLY+=("$file")
  done < <(compgen -f -- "$1")
}

_qkv_words() {
  COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_qkv() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _qkv_words "attend diff info lesson train verify bench help --help --version" "$cur"
    return
  fi
  # "--causal=top" comes as three words.
  if [[ $cur == "=" && $prev == --causal ]]; then
    _qkv_words "top-left bottom-right" ""
    return
  fi
  if [[ $prev == "=" ]]; then
    [[ ${COMP_WORDS[COMP_CWORD - 2]} == --causal ]] && _qkv_words "top-left bottom-right" "$cur"
    return
  fi
  case $prev in
    --out)
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -d -- "$cur"))
      return
      ;;
    -o | --output | --q | --k | --v | --mask | --bias | --key-lengths | --key-begin | \
      --query-lengths | --query-offset | --cu-seqlens | --key-cu-seqlens | --sinks)
      _qkv_files "$cur"
      return
      ;;
    --layout) _qkv_words "bhld blhd" "$cur"; return ;;
    --dtype)
      if [[ $command == bench ]]; then
        _qkv_words "f32 f16 bf16" "$cur"
      else
        _qkv_words "float32 float64" "$cur"
      fi
      return
      ;;
    --out-dtype) _qkv_words "float32 float16 bfloat16 float64" "$cur"; return ;;
    --arithmetic) _qkv_words "by-type float32" "$cur"; return ;;
    --isa) _qkv_words "best portable neon avx2 avx512" "$cur"; return ;;
    --text)
      if [[ $command == train ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$cur"))
        return
      fi
      _qkv_words "list all dot turn figure tokens scale set heads machine" "$cur"
      return
      ;;
    --write) _qkv_files "$cur"; return ;;
    --port) return ;;
    --op) _qkv_words "forward" "$cur"; return ;;
    --break) _qkv_words "exp" "$cur"; return ;;
    --window | --scale | --softcap | --weights | --threads | --atol | --rtol | --ulp | --shape | \
      --kv-heads | --repeat | --steps | --seed) return ;;
  esac
  if [[ $cur != -* ]]; then
    case $command in
      attend | diff) _qkv_files "$cur" ;;
      help) _qkv_words "attend diff info lesson train verify bench" "$cur" ;;
      train) ((COMP_CWORD == 2)) && _qkv_words "points text saturation copy" "$cur" ;;
    esac
    return
  fi
  case $command in
    attend)
      _qkv_words "-o --output --q --k --v --layout --dtype --out-dtype --force --causal
        --query-offset --window --mask --key-lengths --key-begin --query-lengths --cu-seqlens
        --key-cu-seqlens --scale --softcap --bias --alibi --sinks --lse --weights --arithmetic
        --threads --isa --explain --json -h --help" "$cur"
      ;;
    diff) _qkv_words "--atol --rtol --ulp --json -h --help" "$cur" ;;
    info) _qkv_words "--json -h --help" "$cur" ;;
    lesson) _qkv_words "--no-open --port --write --force --text -h --help" "$cur" ;;
    train)
      _qkv_words "-o --out --steps --seed --resume --text --threads --isa -h --help" "$cur"
      ;;
    verify) _qkv_words "--isa --list --json --break -h --help" "$cur" ;;
    bench)
      _qkv_words "--op --shape --kv-heads --dtype --causal --threads --isa --repeat --json
        -h --help" "$cur"
      ;;
  esac
}

complete -F _qkv qkv
